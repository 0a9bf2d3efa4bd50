import { execFile } from 'node:child_process'
import { cp, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backupLocations } from '../kit/backup-locations.ts'
import { type Backups, backupsOf } from '../kit/backups.ts'
import { type Hosting, startHosting, writeApp } from '../kit/hosting.ts'
import { need } from '../kit/machine.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'
import { tempFolder } from '../kit/temp-folder.ts'

/** Keeps one file in its volume: `/?text` writes it, `/` reads it; `big` makes a backup of the volume slow, until `small`. */
const app = `
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
const folder = '/data'
/** Digest of all names, modes and contents. */
function digest(folder) {
  const hash = createHash('sha256')
  for (const name of readdirSync(folder, { recursive: true }).sort()) {
    hash.update(name + (statSync(join(folder, name)).mode & 0o777))
    if (statSync(join(folder, name)).isFile()) hash.update(readFileSync(join(folder, name)))
  }
  return hash.digest('hex')
}
createServer((request, response) => {
  const text = decodeURIComponent(new URL(request.url, 'http://x').search.slice(1))
  if (text === 'big') for (let at = 0; at < 6; at++) writeFileSync(join(folder, 'big-' + at), randomBytes(8e6))
  else if (text === 'small') for (const name of readdirSync(folder)) { if (name.startsWith('big-')) rmSync(join(folder, name)) }
  else if (text === 'grown') writeFileSync(join(folder, 'grown'), randomBytes(6e6))
  else if (text === 'digest') return response.end(digest(folder))
  else if (text) { mkdirSync(join(folder, 'deep/er'), { recursive: true }); writeFileSync(join(folder, 'deep/er/file.txt'), text, { mode: 0o640 }) }
  let now = ''
  try { now = readFileSync(join(folder, 'deep/er/file.txt'), 'utf8') } catch {}
  response.end(now)
}).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`

describeOnRuntimes('backups of a project with a volume', (runtime) => {
  let hosting: Hosting
  let backups: Backups
  let project: { id: string; slug: string }
  let policyId: string
  beforeAll(async () => {
    hosting = await startHosting({ runtime, env: { BERTH_JOB_LEASE_SECONDS: '1' } })
    backups = backupsOf(hosting)
    const folder = join(hosting.folder, 'kept')
    await writeApp(folder, app)
    const volumes = [{ name: 'data', mountPath: '/data' }]
    project = await hosting.makeProject({ name: 'kept', localPath: folder, volumes, healthCheck: { path: '/' } })
    expect((await hosting.settled(await hosting.deploy(project.id))).error).toBeNull()
    const destinationId = await backups.destination('local', { path: 'nightly' })
    policyId = await backups.policy(project.id, { destinationId, retainCount: 50 })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const page = async () => (await hosting.get(`${project.slug}.localhost`)).text
  const write = async (text: string) => (await hosting.get(`${project.slug}.localhost`, `/?${encodeURIComponent(text)}`)).text
  const stored = () => join(hosting.berth.dataFolder, 'backups', 'nightly')
  const left = async (runId: string) =>
    (await readdir(stored(), { recursive: true })).filter((name) => name.includes(`${runId}/`) && name.endsWith('.age'))

  test('a restore writes the data of the backup, and can be undone', async () => {
    await write('as it was')
    const run = await backups.backUp(policyId)
    expect(run).toMatchObject({ status: 'succeeded', error: null, artifacts: [{ name: 'data', kind: 'volume' }] })
    await write('changed since')
    const restore = await backups.restore(run.id)
    expect(restore).toMatchObject({ status: 'succeeded', dataState: 'restored', error: null, verification: { status: 'passed' } })
    expect(restore.report?.changes).toMatchObject([
      { name: 'data', action: 'replace', filesAdded: 0, filesChanged: 1, filesRemoved: 0 },
    ])
    expect(await page()).toBe('as it was')
    expect((await backups.restore(restore.preRestoreRunId as string)).status).toBe('succeeded')
    expect(await page()).toBe('changed since')
  })

  test.each(['s3', 'sftp'] as const)('a backup to %s is restored byte for byte', async (kind) => {
    need(kind === 's3' ? 's3' : 'sshd')
    await using paths = backupLocations(hosting, backups)
    await write(`to ${kind}`)
    const big = await write('digest')
    const policy = await backups.policy(project.id, { destinationId: await paths[kind]() })
    const run = await backups.backUp(policy)
    expect([run.status, run.error]).toEqual(['succeeded', null])
    await write('grown')
    await write('changed since')
    expect(await write('digest')).not.toBe(big)
    expect(await backups.restore(run.id)).toMatchObject({ status: 'succeeded', dataState: 'restored', error: null })
    expect([await page(), await write('digest')]).toEqual([`to ${kind}`, big])
  })

  test('unchanged data is not stored twice', async () => {
    const first = await backups.backUp(policyId)
    const second = await backups.backUp(policyId)
    expect(second.artifacts).toMatchObject([{ reused: true, sha256: first.artifacts[0]?.sha256 }])
    expect((await left(second.id)).map((name) => name.split('/').at(-1))).toEqual(['manifest.json.zst.age'])
  })

  test('age, zstd and tar open a stored backup with the key of the instance', async () => {
    need('age')
    await write('without Berth')
    const run = await backups.backUp(policyId)
    const key = join(hosting.berth.dataFolder, 'backup.key')
    const folder = join(stored(), project.id, run.id)
    await using place = await tempFolder('opened')
    // The commands of docs/backups.md, unchanged.
    const script = `
      set -e
      cd "$1"
      for part in *-data.*.tar.zst.age; do age -d -i "$2" "$part" | zstd -dc; done | tar -x -C "$3"
      age -d -i "$2" manifest.json.zst.age | zstd -dc > "$3/manifest.json"`
    await promisify(execFile)('sh', ['-c', script, 'sh', folder, key, place.path])
    expect(await readFile(join(place.path, 'deep/er/file.txt'), 'utf8')).toBe('without Berth')
    const manifest = join(folder, 'manifest.json.zst.age')
    const restored = await hosting.cli(['restore', '--file', manifest, '--key', key, '--to', join(place.path, 'by-berth')])
    expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining('1 file, ') })
    expect(JSON.parse(await readFile(join(place.path, 'manifest.json'), 'utf8'))).toMatchObject({
      runId: run.id,
      projectId: project.id,
    })
    await openByGuide(folder, key)
  })

  /** Runs each block of docs/backup-archives.md in a copy of a run, and finds the file that was backed up. */
  async function openByGuide(run: string, key: string): Promise<void> {
    const page = await readFile(join(import.meta.dirname, '../../docs/backup-archives.md'), 'utf8')
    const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) => block)
    expect(blocks).toHaveLength(3)
    const hasJq = await promisify(execFile)('jq', ['--version']).then(
      () => true,
      () => false,
    )
    for (const block of blocks.filter((block) => hasJq || !block.includes('jq '))) {
      await using place = await tempFolder('by-guide')
      await cp(run, place.path, { recursive: true })
      await cp(key, join(place.path, 'backup.key'))
      const script = `set -e\n${block.replace('/path/of/the/destination', stored())}`
      await promisify(execFile)('bash', ['-c', script], { cwd: place.path })
      expect(await readFile(join(place.path, 'deep/er/file.txt'), 'utf8')).toBe('without Berth')
    }
  }

  test.each(runtime === 'docker' ? ['uploading'] : ['preparing', 'dumping', 'uploading', 'verifying'])(
    'kill -9 while a run is %s: the run succeeds completely or fails',
    async (status) => {
      await write('big')
      await write(`killed while ${status}`)
      const runId = await backups.start(policyId)
      await backups.ended(runId, (run) => run.status === status || ['succeeded', 'failed'].includes(run.status))
      await hosting.berth.kill9()
      await hosting.berth.restart()
      const run = await backups.ended(runId)
      if (run.status !== 'succeeded') await expect.poll(() => left(runId)).toEqual([])
      else {
        await write('something else')
        expect((await backups.restore(runId)).status).toBe('succeeded')
        expect(await page()).toBe(`killed while ${status}`)
      }
    },
  )

  test('kill -9 while a restore is applied: the project serves the data of the backup in the end', async () => {
    await write('before the restore')
    const run = await backups.backUp(policyId)
    await write('after it')
    for (const pauseMs of runtime === 'docker' ? [300] : [0, 150, 600]) {
      const prepared = await backups.prepare(run.id)
      await backups.restored(prepared.restoreId, ({ verification }) => verification.status === 'passed')
      await backups.apply(prepared)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      await hosting.berth.kill9()
      await hosting.berth.restart()
      expect(await backups.restored(prepared.restoreId)).toMatchObject({ status: 'succeeded', dataState: 'restored' })
      await expect.poll(page).toBe('before the restore')
    }
  })

  test('berth backups lists, runs, watches, protects, restores and undoes', async () => {
    const signedIn = await hosting.cli(['login', '--email', 'owner@example.test', '--password-stdin'], {
      input: 'correct horse battery\n',
    })
    expect([signedIn.code, signedIn.stderr]).toEqual([0, expect.any(String)])
    await write('small')
    await write('by the command line')
    const of = ['--project', project.id]
    const ran = await hosting.cli(['--json', 'backups', 'run', policyId])
    expect(ran).toMatchObject({ code: 0 })
    const { id } = JSON.parse(ran.stdout)
    expect((await hosting.cli(['backups', 'list', ...of])).stdout).toContain(id)
    expect(await hosting.cli(['backups', 'watch', id])).toMatchObject({ code: 0 })
    expect(await hosting.cli(['backups', 'protect', id])).toMatchObject({ code: 0 })
    await write('and then changed')
    const restored = await hosting.cli(['--json', 'backups', 'restore', id, '--yes'])
    expect(restored).toMatchObject({ code: 0 })
    expect(await page()).toBe('by the command line')
    expect(await hosting.cli(['backups', 'undo', JSON.parse(restored.stdout).id, '--yes'])).toMatchObject({ code: 0 })
    expect(await page()).toBe('and then changed')
  })
})
