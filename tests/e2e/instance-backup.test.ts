import { execFile } from 'node:child_process'
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { getPage, ownerSignIn, startHosting, writeApp } from '../kit/hosting.ts'
import { startBerth } from '../kit/start-berth.ts'
import { tempFolder } from '../kit/temp-folder.ts'

const launcher = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'berth.js')

/** Keeps what it is asked with in its volume. */
const app = `
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

const command = (args: string[], dataFolder: string) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) =>
    execFile(
      process.execPath,
      [launcher, ...args],
      { env: { PATH: process.env.PATH, HOME: dataFolder, BERTH_DATA_DIR: dataFolder } },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    ),
  )

test('one encrypted file and one key bring an instance back on a blank machine: people, projects, variables and volumes', async () => {
  await using place = await tempFolder('instance')
  const [file, key, elsewhere] = [join(place.path, 'instance.tar.zst.age'), join(place.path, 'key.txt'), join(place.path, 'new')]
  let slug: string
  {
    await using hosting = await startHosting()
    const folder = join(hosting.folder, 'kept')
    await writeApp(folder, app)
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
    // While it runs.
    expect(await command(['backup-instance', file], hosting.berth.dataFolder)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('backup.key'),
    })
    await copyFile(join(hosting.berth.dataFolder, 'backup.key'), key)
    const again = await command(['backup-instance', file], hosting.berth.dataFolder)
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('there already')])
  }
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await readFile(file)).includes('precious')).toBe(false)
  const wrong = join(place.path, 'wrong.txt')
  await writeFile(wrong, `AGE-SECRET-KEY-1${'Q'.repeat(58)}\n`)
  expect((await command(['restore-instance', file, '--key', wrong], elsewhere)).code).toBe(1)
  expect(await command(['restore-instance', file, '--key', key], elsewhere)).toMatchObject({ code: 0 })
  expect((await command(['restore-instance', file, '--key', key], elsewhere)).stderr).toContain('not empty')
  await using berth = await startBerth({ dataFolder: elsewhere, env: { BERTH_RUNTIME: 'process' } })
  const session = await fetch(`${berth.url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: berth.url },
    body: JSON.stringify(ownerSignIn),
  })
  expect(session.status).toBe(200)
  await expect
    .poll(async () => (await getPage(berth.edgeUrl, `${slug}.localhost`, '/')).text, { timeout: 60_000 })
    .toBe('precious and the secret')
})
