import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deployment } from '@berth/contract'
import { expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../packages/server/src/platform/test-database.ts'
import { isAlive } from '../kit/daemon.ts'
import { type Hosting, ownerSignIn, runtimeFolder, startHosting, writeApp } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'
import { startBerth } from '../kit/start-berth.ts'
import { tempFolder } from '../kit/temp-folder.ts'

/** Appends a line to its volume at each start, and responds with all of them. */
const counting = `
import { createServer } from 'node:http'
import { appendFileSync, readFileSync } from 'node:fs'
const file = process.env.BERTH_VOLUME_COUNTER + '/starts'
appendFileSync(file, 'x')
createServer((_, response) => response.end(readFileSync(file))).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`

/** Two data folders and one database. */
interface Machines extends AsyncDisposable {
  database: TestDatabase
  env: NodeJS.ProcessEnv
  one: string
  two: string
  sources: string
}

async function prepare(): Promise<Machines> {
  process.env.BERTH_TEST_POSTGRES_URL ??= partOf('postgres')
  const database = await openTestDatabase({ kind: 'postgres' })
  const folder = await tempFolder('machines')
  const [one, two, sources] = [join(folder.path, 'one'), join(folder.path, 'two'), join(folder.path, 'sources')]
  const env = {
    BERTH_DATABASE_URL: database.settings.url!,
    BERTH_SECRET_KEY: randomBytes(32).toString('hex'),
    BERTH_JOB_LEASE_SECONDS: '3',
    BERTH_PROJECT_ROOTS: sources,
  }
  const end = async () => {
    await database.close()
    await folder.remove()
  }
  return { database, env, one, two, sources, [Symbol.asyncDispose]: end }
}

/** Copies a folder that may be in use: once more if a file was removed before it was read. */
function copyFolder(from: string, to: string): void {
  for (;;) {
    const { status, stderr } = spawnSync('/bin/cp', ['-a', from, to], { encoding: 'utf8', env: { LC_ALL: 'C' } })
    if (status === 0) return
    if (!stderr.includes('No such file or directory')) throw new Error(stderr)
    rmSync(to, { recursive: true })
  }
}

/** The output of a start that was refused; a start that succeeds is ended, and fails the test. */
async function refusedStart(dataFolder: string, env: NodeJS.ProcessEnv, args: readonly string[] = []): Promise<string> {
  await mkdir(dataFolder, { recursive: true })
  const started = await startBerth({ dataFolder, env: { BERTH_RUNTIME: 'process', ...env }, args }).catch((error: Error) => error)
  if (started instanceof Error) return started.message
  await started[Symbol.asyncDispose]()
  throw new Error('the second machine was accepted')
}

async function makeCounter(hosting: Hosting, machines: Machines) {
  // A folder that both machines can read.
  const localPath = join(machines.sources, 'counter')
  await writeApp(localPath, counting)
  const volumes = [{ name: 'counter', mountPath: '/data' }]
  const app = await hosting.makeProject({ name: 'Counter', gitProvider: 'local', localPath, volumes })
  expect((await hosting.settled(await hosting.deploy(app.id))).error).toBeNull()
  return { ...app, host: `${app.slug}.localhost` }
}

const starts = async (hosting: Hosting, host: string) => (await hosting.get(host)).text

describeNeeding(['postgres'], 'two data folders on one PostgreSQL', () => {
  test.each([
    ['one', 'two'],
    ['two', 'one'],
  ] as const)(
    'while %s runs the projects, %s is refused, also afterwards, and the project is unchanged',
    async (first, second) => {
      await using machines = await prepare()
      const { env, database } = machines
      await using hosting = await startHosting({ dataFolder: machines[first], env })
      const app = await makeCounter(hosting, machines)
      const stateOf = async () => (await hosting.api('GET', `/projects/${app.id}`)).body.data.status
      const before = await stateOf()
      const message = await refusedStart(machines[second], env)
      for (const text of [`data folder ${machines[first]}, since `, 'SSH server', 'BERTH_ROLE=api', 'berth up --take-over'])
        expect(message).toContain(text)
      expect(await refusedStart(machines[second], env, ['--take-over'])).toContain('is still running')
      // The refused starts changed nothing.
      expect(await stateOf()).toBe(before)
      for (let count = 2; count <= 3; count++) {
        expect((await hosting.settled(await hosting.deploy(app.id))).error).toBeNull()
        expect(await starts(hosting, app.host)).toBe('x'.repeat(count))
      }
      await expect.poll(async () => (await database.db.selectFrom('instances').select('id').execute()).length).toBe(1)
      await hosting.berth.stop()
      expect(await refusedStart(machines[second], env)).toContain(`data folder ${machines[first]}`)
      // The first machine starts again, in order and after kill -9.
      await hosting.berth.restart()
      await hosting.berth.kill9()
      await hosting.berth.restart()
      await expect.poll(() => starts(hosting, app.host)).toMatch(/^x{4,}$/)
    },
  )

  test('an API process beside the worker answers requests; it runs no deployment, edge or job', async () => {
    await using machines = await prepare()
    const { env } = machines
    await using hosting = await startHosting({ dataFolder: machines.one, env })
    const app = await makeCounter(hosting, machines)
    await mkdir(machines.two)
    await using api = await startBerth({
      dataFolder: machines.two,
      env: { ...env, BERTH_ROLE: 'api', BERTH_WORKER_URL: hosting.berth.url },
    })
    expect((await fetch(`${api.url}/api/health`)).status).toBe(200)
    await expect(fetch(api.edgeUrl)).rejects.toThrow()
    expect(existsSync(join(machines.two, 'edge'))).toBe(false)
    expect(existsSync(runtimeFolder(machines.two))).toBe(false)
    const post = (path: string, body: object, cookie = '') =>
      fetch(`${api.url}/api${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: api.url, cookie },
        body: JSON.stringify(body),
      })
    const session = await post('/auth/login', ownerSignIn)
    const cookie = session.headers.getSetCookie()[0]?.split(';')[0]
    const requested = await post('/deployments/build/access', { projectId: app.id }, cookie)
    expect(requested.status).toBe(202)
    const { data } = (await requested.json()) as { data: { deploymentId: string } }
    expect((await hosting.settled(data.deploymentId)).status).toBe('live')
    expect(await starts(hosting, app.host)).toBe('xx')
  })

  test('a take-over without the data folder starts no project on an empty volume, and the first machine is refused from then on', async () => {
    await using machines = await prepare()
    const { env, database } = machines
    await using first = await startHosting({ dataFolder: machines.one, env })
    await makeCounter(first, machines)
    await first.berth.stop()
    await mkdir(machines.two)
    await using hosting = await startHosting({ dataFolder: machines.two, env, args: ['--take-over'] })
    const { id, machineId, projectId } = await database.db.selectFrom('volumes').selectAll().executeTakeFirstOrThrow()
    const holder = await database.db.selectFrom('machines').selectAll().executeTakeFirstOrThrow()
    expect([machineId, holder.dataDir]).toEqual([holder.id, machines.two])
    const { status, error } = await hosting.settled(await hosting.deploy(projectId))
    expect([status, error?.code, error?.message]).toEqual([
      'failed',
      'volume_missing',
      expect.stringContaining(`volume counter (${id})`),
    ])
    expect(existsSync(join(runtimeFolder(machines.two), 'volumes', id))).toBe(false)
    expect(readdirSync(join(runtimeFolder(machines.one), 'volumes'))).toEqual([id])
    expect(await refusedStart(machines.one, env)).toContain(`data folder ${machines.two}`)
  })

  test('a copied data folder is refused while the first one runs, and continues the instance afterwards', async () => {
    await using machines = await prepare()
    const { env } = machines
    let host: string
    {
      await using hosting = await startHosting({ dataFolder: machines.one, env })
      host = (await makeCounter(hosting, machines)).host
      copyFolder(machines.one, machines.two)
      expect(await refusedStart(machines.two, env)).toContain(`copy of one that is in use by`)
      expect(await starts(hosting, host)).toBe('x')
    }
    await using hosting = await startHosting({ dataFolder: machines.two, env })
    await expect.poll(() => starts(hosting, host)).toBe('xx')
    expect(await refusedStart(machines.one, env)).toContain(`data folder ${machines.two}`)
  })

  test('a machine that is suspended past its lease and replaced stops with its projects when it resumes', async () => {
    await using machines = await prepare()
    const { env, database } = machines
    const rows = () => database.db.selectFrom('instances').select(['id', 'machineId', 'state']).execute()
    await using paused = await startHosting({ dataFolder: machines.one, env })
    const { id, host } = await makeCounter(paused, machines)
    const { pid, processes } = paused.berth
    const all = [pid, processes.worker!, processes.api!]
    for (const one of all) process.kill(one, 'SIGSTOP')
    copyFolder(machines.one, machines.two)
    // As on another computer: its own id, and no process of the first one.
    execFileSync('/bin/rm', ['-r', join(machines.two, 'machine.json'), join(runtimeFolder(machines.two), 'instances')])
    await using next = await startHosting({ dataFolder: machines.two, env, args: ['--take-over'] })
    await expect.poll(() => starts(next, host)).toBe('xx')
    const before = await rows()
    for (const one of all) process.kill(one, 'SIGCONT')
    await expect.poll(() => isAlive(pid)).toBe(false)
    expect(paused.berth.output()).toContain(`taken over by`)
    expect(paused.berth.output()).toContain(machines.two)
    await expect(paused.get(host)).rejects.toThrow()
    expect(await rows()).toEqual(before)
    // On one computer both use the same control groups, so the end of the first may have ended the project of the second.
    expect((await next.settled(await next.deploy(id))).error).toBeNull()
    expect(await starts(next, host)).toMatch(/^xxx+$/)
  })

  test('a machine that is suspended during a deployment and replaced does not change the deployment when it resumes', async () => {
    await using machines = await prepare()
    const { env, database } = machines
    // Without the log position: it follows the output of the instance that runs.
    const instances = async () =>
      (await database.db.selectFrom('instances').selectAll().execute()).map((row) => ({ ...row, logPosition: null }))
    const rows = async () => ({
      deployments: await database.db.selectFrom('deployments').selectAll().orderBy('number').execute(),
      live: await database.db.selectFrom('liveEnvironments').selectAll().execute(),
      instances: await instances(),
      jobs: await database.db
        .selectFrom('jobs')
        .selectAll()
        .where('kind', '=', 'deployments.deploy')
        .orderBy('sequence')
        .execute(),
    })
    await using paused = await startHosting({ dataFolder: machines.one, env })
    const { id, host } = await makeCounter(paused, machines)
    const buildCommand = `node -e "setTimeout(() => {}, 2000)"`
    expect((await paused.api('PATCH', `/projects/${id}`, { buildCommand })).status).toBe(200)
    const deploymentId = await paused.deploy(id)
    const isBuilding = ({ steps }: Deployment) => steps.some(({ name, status }) => name === 'build' && status === 'running')
    await paused.settled(deploymentId, isBuilding)
    const { pid, processes } = paused.berth
    const all = [pid, processes.worker!, processes.api!]
    for (const one of all) process.kill(one, 'SIGSTOP')
    copyFolder(machines.one, machines.two)
    execFileSync('/bin/rm', ['-r', join(machines.two, 'machine.json'), join(runtimeFolder(machines.two), 'instances')])
    await using next = await startHosting({ dataFolder: machines.two, env, args: ['--take-over'] })
    expect(await next.settled(deploymentId)).toMatchObject({ status: 'live', error: null })
    await next.settled(deploymentId, ({ steps }) => steps.every(({ status }) => status !== 'running'))
    await expect.poll(async () => (await rows()).jobs.map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
    const before = await rows()
    for (const one of all) process.kill(one, 'SIGCONT')
    await expect.poll(() => isAlive(pid)).toBe(false)
    expect(await rows()).toEqual(before)
    expect(paused.berth.output()).toContain('taken over by')
    expect((await next.settled(await next.deploy(id))).error).toBeNull()
    expect(await starts(next, host)).toMatch(/^xxx+$/)
  })
})
