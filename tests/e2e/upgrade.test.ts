import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, truncateSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Hosting, keepRequesting, startHosting, writeApp } from '../kit/hosting.ts'
import { collectNumberedLines, missingLines, numberedLinesApp } from '../kit/numbered-lines.ts'
import { npmEnvironment, type Packed, packClone } from '../kit/package-variants.ts'
import { type TempFolder, tempFolder } from '../kit/temp-folder.ts'

/** A migration of its own: no other version starts on the database after it. */
const migratesFurther = `
import { DatabaseSync } from 'node:sqlite'
if (process.argv[3] === 'migrate') process.on('exit', () => {
  const database = new DatabaseSync(process.env.BERTH_DATA_DIR + '/berth.db')
  database.exec("insert into schemaMigrations values ('999-further', 0)")
  database.close()
})`
const endsAtStart = `${migratesFurther}
if (process.argv[2] === 'up') process.exit(1)`
const hangsAtStart = `${migratesFurther}
if (process.argv[2] === 'up') {
  process.on('disconnect', () => process.exit(1))
  await new Promise(() => setInterval(() => {}, 1000))
}`

describe('berth upgrade', () => {
  let folder: TempFolder
  let packed: Packed
  let launcher: string
  let hosting: Hosting
  let project: { id: string; slug: string }
  beforeAll(async () => {
    folder = await tempFolder('upgrade')
    packed = await packClone(folder.path)
    launcher = await packed.install()
    const env = { BERTH_SLEEP_AFTER_SECONDS: '86400', BERTH_ON_STOP: 'keep' }
    hosting = await startHosting({ launcher, env })
    await writeApp(join(hosting.folder, 'app'), numberedLinesApp)
    project = await hosting.makeProject({ name: 'Always on', localPath: join(hosting.folder, 'app') })
    expect((await hosting.settled(await hosting.deploy(project.id))).error).toBeNull()
  })
  afterAll(async () => {
    await hosting?.[Symbol.asyncDispose]()
    await folder?.remove()
  })

  const berth = (args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const env = { ...npmEnvironment(folder.path), BERTH_DATA_DIR: hosting.berth.dataFolder }
      execFile(process.execPath, [launcher, ...args], { env }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
      )
    })
  const servingVersion = async () => (await (await fetch(`${hosting.berth.url}/api/health`)).json()).data.version
  const page = async () => (await hosting.get(`${project.slug}.localhost`)).text
  const inData = (...names: string[]) => join(hosting.berth.dataFolder, ...names)
  const readJson = (...names: string[]) => JSON.parse(readFileSync(inData(...names), 'utf8'))

  test('upgrades to a newer version, and rolls back from one that exits or hangs, without a failed request or a restarted project', async () => {
    const [good, ends, hangs] = [
      await packed.variant('0.1.1'),
      await packed.variant('0.1.2', endsAtStart),
      await packed.variant('0.1.3', hangsAtStart),
    ]
    const before = await page()
    const requests = keepRequesting(hosting.berth.edgeUrl, `${project.slug}.localhost`, { everyMs: 5 })
    const lines = collectNumberedLines(hosting, project.id)

    const upgraded = await berth(['upgrade', '--to', good])
    expect(upgraded, hosting.berth.output()).toMatchObject({ code: 0, stdout: 'Berth 0.1.1 serves. No project was stopped.\n' })
    expect(upgraded.stderr.match(/^▸ \w+/gm)).toEqual([
      '▸ install',
      '▸ migrate',
      '▸ back',
      '▸ stop',
      '▸ copy',
      '▸ migrate',
      '▸ start',
    ])
    expect(await servingVersion()).toBe('0.1.1')
    expect(await berth(['--version'])).toMatchObject({ stdout: '0.1.1\n' })

    const broken = await berth(['upgrade', '--to', ends])
    expect(broken).toMatchObject({ code: 8, stderr: expect.stringContaining('before it had started. Berth 0.1.1 serves again') })
    expect(readJson('upgrade.json')).toMatchObject({ state: 'went-back', from: '0.1.1', to: '0.1.2' })
    await expect.poll(servingVersion).toBe('0.1.1')

    // The supervisor is killed while the new version starts.
    const hanging = berth(['upgrade', '--to', hangs])
    await expect.poll(() => readJson('upgrade.json')).toMatchObject({ state: 'start', to: '0.1.3' })
    await hosting.berth.kill9()
    expect(await hanging).toMatchObject({ code: 1, stderr: expect.stringContaining('The instance ended during the upgrade') })
    await hosting.berth.restart()
    expect(await servingVersion()).toBe('0.1.1')
    expect(readJson('upgrade.json')).toMatchObject({ state: 'went-back', error: expect.stringContaining('at the step start') })

    const { failures, bodies, requests: count } = await requests.stop()
    expect(failures).toEqual([])
    expect([...bodies.keys()]).toEqual([before])
    expect(count).toBeGreaterThan(500)
    expect(missingLines(await lines.stop(), 1)).toEqual([])
    expect(readJson('versions', 'current.json')).toEqual({ version: '0.1.1', installed: '0.1.0' })
    expect(readdirSync(inData('backups', 'upgrades'))).toHaveLength(3)
  })

  test('a damaged package changes nothing; an older version that knows every migration can be installed', async () => {
    const damaged = join(folder.path, 'damaged.tgz')
    await copyFile(packed.file, damaged)
    truncateSync(damaged, 1_000_000)
    expect(await berth(['upgrade', '--to', damaged])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be read as a package'),
    })
    expect(await berth(['upgrade', '--to', packed.file, '--json'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"upgraded"'),
    })
    expect(await servingVersion()).toBe('0.1.0')
    expect(await berth(['upgrade', '--to', '0.1'])).toMatchObject({ code: 2 })
  })

  test('one of two concurrent upgrades is refused', async () => {
    const args = ['upgrade', '--to', join(folder.path, 'berth-0.1.1.tgz'), '--json']
    const results = await Promise.all([berth(args), berth(args)])
    expect(results.filter(({ stdout }) => stdout.includes('"upgraded"'))).toHaveLength(1)
    expect(results.map(({ code }) => code)).toContain(6)
    expect(await servingVersion()).toBe('0.1.1')
  })

  test('a stopped instance is upgraded for its next start', async () => {
    await hosting.berth.stop()
    const args = ['upgrade', '--to', packed.file]
    expect(await berth(args)).toMatchObject({ code: 0, stdout: expect.stringContaining('Berth 0.1.0') })
    await hosting.berth.restart()
    expect(await servingVersion()).toBe('0.1.0')
    await expect.poll(page).not.toBe('')
  })
})
