import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { getPage, ownerSignIn, startHosting, writeApp } from '../kit/hosting.ts'
import { lookUp, partOf } from '../kit/machine.ts'
import { describeOnRuntimes, dockerRemover, type RuntimeKind, settingsFor } from '../kit/runtimes.ts'
import { startBerth } from '../kit/start-berth.ts'
import { tempFolder } from '../kit/temp-folder.ts'

const launcher = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'berth.js')

/** Keeps the query text in its volume, and responds with it and a variable. */
const program = `
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
const file = process.env.BERTH_VOLUME_DATA + '/kept.txt'
createServer((request, response) => {
  const text = request.url.slice(2)
  if (text) writeFileSync(file, text)
  try { response.end(readFileSync(file, 'utf8') + process.env.SECRET) } catch { response.end('') }
}).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`

/** The project in containers, with an image of a hundredth of the size, because the whole image is in the archive. */
const script = `#!/bin/sh
[ -z "$QUERY_STRING" ] || printf %s "$QUERY_STRING" > /data/kept.txt
printf 'content-type: text/plain\\r\\n\\r\\n'
[ ! -f /data/kept.txt ] || printf '%s%s' "$(cat /data/kept.txt)" "$SECRET"
`
const recipe = `FROM busybox
COPY keep.sh /www/cgi-bin/index.cgi
USER 1000:1000
CMD ["sh", "-c", "exec httpd -f -p $PORT -h /www"]
`

async function writeKeeper(folder: string, runtime: RuntimeKind): Promise<void> {
  if (runtime === 'process') return writeApp(folder, program)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'Dockerfile'), recipe)
  await writeFile(join(folder, 'keep.sh'), script, { mode: 0o755 })
}

const command = (args: string[], dataFolder: string, env: NodeJS.ProcessEnv) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) =>
    execFile(
      process.execPath,
      [launcher, ...args],
      { env: { PATH: process.env.PATH, HOME: dataFolder, BERTH_DATA_DIR: dataFolder, ...env } },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    ),
  )

/** Backs up the instance to a folder, as its schedule does; returns the file. */
async function backUpToFolder(hosting: Awaited<ReturnType<typeof startHosting>>): Promise<string> {
  const destination = await hosting.api('POST', '/backup-destinations', {
    name: 'Disk',
    kind: 'local',
    config: { path: 'nightly' },
  })
  const { id, config } = destination.body.data
  await hosting.api('PUT', '/instance/backup-policy', { destinationId: id, cronExpression: '0 0 1 1 *' })
  await hosting.api('POST', '/instance/backups', {})
  const newest = async () => (await hosting.api('GET', '/instance/backups')).body.data[0]
  await expect.poll(async () => (await newest()).status).not.toMatch(/queued|running/)
  const backup = await newest()
  expect(backup).toMatchObject({ status: 'succeeded', trigger: 'manual', content: 'everything', error: null })
  return join(config.path, backup.objectName)
}

const mirror = () => partOf('nodeImage').split('/')[0] as string

/** Processes with SQLite; containers with PostgreSQL, if available: then the data folder alone does not hold the state. */
const databasesOf = async (runtime: RuntimeKind): Promise<{ old: Location; new: Location } & AsyncDisposable> => {
  const none = { env: {}, drop: async () => undefined }
  if (runtime === 'process' || 'reason' in lookUp('postgres')) return { old: none, new: none, [Symbol.asyncDispose]: none.drop }
  const [old, fresh] = [await newDatabase(), await newDatabase()]
  const end = async () => void (await Promise.all([old.drop(), fresh.drop()]))
  return { old, new: fresh, [Symbol.asyncDispose]: end }
}

interface Location {
  env: NodeJS.ProcessEnv
  drop(): Promise<void>
}

async function newDatabase(): Promise<Location> {
  const name = `berth_instance_${randomBytes(6).toString('hex')}`
  await onPostgres(`create database ${name}`)
  const { href } = Object.assign(new URL(partOf('postgres')), { pathname: `/${name}` })
  return { env: { BERTH_DATABASE_URL: href }, drop: () => onPostgres(`drop database if exists ${name} with (force)`) }
}

async function onPostgres(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: partOf('postgres') })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

describeOnRuntimes('a backup of the instance', (runtime) => {
  // These errors occur before any runtime is used.
  const isOnlyOnce = runtime === 'process'
  test('restores it on an empty machine: users, projects, variables, volumes and running workloads', async () => {
    await using place = await tempFolder('instance')
    await using databases = await databasesOf(runtime)
    const [file, key, elsewhere] = [
      join(place.path, 'instance.tar.zst.age'),
      join(place.path, 'key.txt'),
      join(place.path, 'new'),
    ]
    const settings = runtime === 'docker' ? { ...settingsFor(runtime), BERTH_IMAGE_MIRROR: mirror() } : settingsFor(runtime)
    const oldEnv = { ...settings, ...databases.old.env }
    const newEnv = { ...settings, ...databases.new.env }
    let slug: string
    {
      await using hosting = await startHosting({ runtime, env: oldEnv })
      const folder = join(hosting.folder, 'kept')
      await writeKeeper(folder, runtime)
      const project = await hosting.makeProject({
        name: 'kept',
        localPath: folder,
        volumes: [{ name: 'data', mountPath: '/data' }],
      })
      slug = project.slug
      const upserts = [{ key: 'SECRET', value: ' and the secret', isSecret: true }]
      await hosting.api('PATCH', `/projects/${project.id}/env`, { upserts })
      expect((await hosting.settled(await hosting.deploy(project.id))).error).toBeNull()
      await hosting.get(`${slug}.localhost`, '/?precious')
      // The instance is running.
      expect(await command(['backup-instance', file], hosting.berth.dataFolder, oldEnv)).toEqual({
        code: 0,
        stdout: expect.stringContaining('backup.key'),
        stderr: '',
      })
      await copyFile(join(hosting.berth.dataFolder, 'backup.key'), key)
      if (isOnlyOnce) {
        // The restore below is from a backup that the running instance made by itself.
        await rename(await backUpToFolder(hosting), file)
        const again = await command(['backup-instance', file], hosting.berth.dataFolder, oldEnv)
        expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('already exists')])
      }
    }
    // Nothing is left: no folder, no container, no image, no volume.
    await databases.old.drop()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await readFile(file)).includes('precious')).toBe(false)
    if (isOnlyOnce) {
      const wrong = join(place.path, 'wrong.txt')
      await writeFile(wrong, `AGE-SECRET-KEY-1${'Q'.repeat(58)}\n`)
      expect((await command(['restore-instance', file, '--key', wrong], elsewhere, newEnv)).code).toBe(1)
    }
    expect(await command(['restore-instance', file, '--key', key], elsewhere, newEnv)).toMatchObject({ code: 0, stderr: '' })
    const remove = runtime === 'docker' ? dockerRemover(elsewhere) : async () => undefined
    try {
      if (isOnlyOnce)
        expect((await command(['restore-instance', file, '--key', key], elsewhere, newEnv)).stderr).toContain('not empty')
      await using berth = await startBerth({ dataFolder: elsewhere, env: newEnv })
      const session = await fetch(`${berth.url}/api/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: berth.url },
        body: JSON.stringify(ownerSignIn),
      })
      expect(session.status).toBe(200)
      await expect.poll(async () => (await getPage(berth.edgeUrl, `${slug}.localhost`, '/')).text).toBe('precious and the secret')
      // The restored project can write to its volume.
      await expect
        .poll(async () => (await getPage(berth.edgeUrl, `${slug}.localhost`, '/?written')).text)
        .toBe('written and the secret')
    } finally {
      await remove()
    }
  })
})
