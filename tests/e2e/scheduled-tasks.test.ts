import { join } from 'node:path'
import type { CronRun } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Hosting, ownerSignIn, serving, startHosting, writeApp } from '../kit/hosting.ts'

describe('scheduled tasks on processes', () => {
  let hosting: Hosting
  let project: { id: string; slug: string }
  beforeAll(async () => {
    hosting = await startHosting({ env: { BERTH_JOB_LEASE_SECONDS: '1' } })
    const login = ['login', '--email', ownerSignIn.email, '--password-stdin']
    expect(await hosting.cli(login, { input: ownerSignIn.password })).toMatchObject({ code: 0 })
    const folder = join(hosting.folder, 'tasks')
    await writeApp(folder, serving('hello'))
    project = await hosting.makeProject({ name: 'tasks', localPath: folder, healthCheck: { path: '/' } })
    const upserts = [{ key: 'API_TOKEN', value: 'token-of-the-task-4711', isSecret: true }]
    await hosting.api('PATCH', `/projects/${project.id}/env`, { upserts, deletes: [] })
    expect((await hosting.settled(await hosting.deploy(project.id))).error).toBeNull()
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const berth = (...args: string[]) => hosting.cli(['cron', ...args, '--project', project.id])
  const start = async (cronJobId: string): Promise<CronRun> =>
    (await hosting.api('POST', `/projects/${project.id}/cron-jobs/${cronJobId}/run`)).body.data
  const runOf = async (id: string): Promise<CronRun> => (await hosting.api('GET', `/cron-runs/${id}`)).body.data
  const linesOf = async (id: string): Promise<string[]> =>
    (await hosting.api('GET', `/cron-runs/${id}/logs`)).body.data.map(({ message }: { message: string }) => message)
  const create = async (command: string[]): Promise<string> => {
    const body = { name: 'task', schedule: '0 0 1 1 *', command }
    return (await hosting.api('POST', `/projects/${project.id}/cron-jobs`, body)).body.data.id
  }

  test('the command line adds, runs, shows and removes a task; its secrets are not in the output', async () => {
    const script = 'console.log("token", process.env.API_TOKEN, process.argv[1]); process.exit(process.env.API_TOKEN ? 0 : 9)'
    // Commander reads options until `--`, so the project comes first.
    const words = [
      'cron',
      'add',
      'nightly',
      '--schedule',
      '0 3 * * *',
      '--project',
      project.id,
      '--',
      'node',
      '-e',
      script,
      '$x; y',
    ]
    expect(await hosting.cli(words)).toMatchObject({ code: 0, stdout: expect.stringContaining('added nightly') })
    const ran = await berth('run', 'nightly')
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/succeeded {2}exit code 0/) })
    expect(ran.stdout).toContain('$x; y')
    expect(ran.stdout).not.toContain('4711')
    expect(await berth('logs', 'nightly')).toMatchObject({ code: 0, stdout: expect.stringContaining('$x; y') })
    expect(await berth('list')).toMatchObject({ code: 0, stdout: expect.stringMatching(/nightly +0 3 \* \* \*.*succeeded/) })
    expect(await berth('remove', 'nightly')).toMatchObject({ code: 0 })
    expect((await berth('list')).stdout).toContain('No scheduled tasks')
  })

  test('a failing task ends with its exit code; a missing program is reported', async () => {
    const failing = await start(await create(['node', '-e', 'process.exit(3)']))
    await expect.poll(async () => (await runOf(failing.id)).status, { timeout: 20_000 }).toBe('failed')
    expect(await runOf(failing.id)).toMatchObject({ exitCode: 3, error: expect.stringContaining('exit code 3') })
    const missing = await start(await create(['no-such-program']))
    await expect.poll(async () => (await runOf(missing.id)).status, { timeout: 20_000 }).toBe('failed')
  })

  test('kill -9 during a run: the command ran once, the run ends once, and no process is left', async () => {
    const script = 'console.log("begun"); setTimeout(() => console.log("done"), 4000)'
    const run = await start(await create(['node', '-e', script]))
    await expect.poll(() => linesOf(run.id), { timeout: 20_000 }).toContain('begun')
    await hosting.berth.kill9()
    await hosting.berth.restart()
    await expect.poll(async () => (await runOf(run.id)).finishedAt, { timeout: 40_000 }).not.toBeNull()
    const ended = await runOf(run.id)
    expect(['succeeded', 'failed']).toContain(ended.status)
    expect((await linesOf(run.id)).filter((line) => line === 'begun')).toHaveLength(1)
    expect((await hosting.get(`${project.slug}.localhost`)).text).toBe('hello')
    const { body } = await hosting.api('GET', `/projects/${project.id}/cron-jobs/${ended.cronJobId}/runs`)
    expect(body.data).toEqual([ended])
  })
})
