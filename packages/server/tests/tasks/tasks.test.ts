// gate: also on PostgreSQL, since runs, their transitions and their schedule meet in its tables
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { announceKind } from '../../src/platform/jobs/announce.ts'
import { type Scene, setScene } from '../deployments/scene.ts'
import { type Answer, call } from '../kit/call.ts'
import { makePeople } from '../kit/people.ts'

let scene: Scene
let moved = 0
beforeAll(async () => {
  scene = await setScene({ clock: { now: () => new Date(Date.now() + moved) } })
})
afterAll(() => scene.end())
beforeEach(() => {
  scene.instance.drivers.runtime.whileTask = async () => 0
})

const minute = 60_000
const db = () => scene.instance.database.db
const idle = () => scene.instance.jobs.whenIdle()
/** Half a day away, so that it is never due by itself while the tests run. */
const daily = { name: 'tidy', schedule: `0 ${(new Date().getUTCHours() + 12) % 24} * * *`, command: 'node tidy.js --all' }

async function liveApp(): Promise<string> {
  const { id } = await scene.makeApp()
  expect((await scene.settled(await scene.deploy(id))).status).toBe('live')
  return id
}
const create = (id: string, body: object = {}, token?: string) =>
  scene.request('POST /projects/:id/cron-jobs', id, { body: { ...daily, ...body } }, token)
const made = async (id: string, body: object = {}): Promise<string> => (await create(id, body)).body.data.id
const on = (at: `${string} /${string}`, id: string, cronJobId: string, body?: object, token?: string): Promise<Answer> =>
  scene.request(at, id, { params: { id, cronJobId }, ...(body ? { body } : {}) }, token)
const start = (id: string, cronJobId: string) => on('POST /projects/:id/cron-jobs/:cronJobId/run', id, cronJobId)
const runsOf = async (id: string, cronJobId: string) =>
  (await on('GET /projects/:id/cron-jobs/:cronJobId/runs', id, cronJobId)).body.data
/** Announcements about a task. */
const announced = async (category: string, cronJobId: string): Promise<number> => {
  const query = db().selectFrom('jobs').select('payload').where('kind', '=', announceKind.kind)
  return (await query.execute()).filter(({ payload }) => payload.includes(category) && payload.includes(cronJobId)).length
}

/** The schedule fires now, as if its time had come `lateMs` ago; resolves once the run is recorded and the next one can fire. */
async function fire(cronJobId: string, lateMs = 0): Promise<void> {
  const at = Date.now() + moved - lateMs
  await db().updateTable('schedules').set({ nextRunAt: at }).where('key', '=', `cron-job:${cronJobId}`).execute()
  scene.instance.database.signals.publish('jobs', { schedules: true })
  await expect
    .poll(async () => {
      const row = await db().selectFrom('schedules').selectAll().where('key', '=', `cron-job:${cronJobId}`).executeTakeFirst()
      return row?.nextRunAt !== at
    })
    .toBe(true)
  await expect.poll(() => listActive(`schedule:cron-job:${cronJobId}`)).toEqual([])
}

const listActive = (uniqueKey: string) =>
  db().selectFrom('jobs').select('id').where('uniqueKey', '=', uniqueKey).where('status', 'in', ['queued', 'running']).execute()

/** A command that runs until the test releases it. */
function held() {
  const [begun, going] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()]
  scene.instance.drivers.runtime.whileTask = () => {
    begun.resolve()
    return going.promise
  }
  return { begun: begun.promise, release: (exitCode = 0) => going.resolve(exitCode) }
}

describe('a scheduled task', () => {
  test('is created with defaults, changed, listed with its next run, and deleted', async () => {
    const id = await liveApp()
    const { status, body } = await create(id)
    expect(status).toBe(201)
    expect(body.data).toMatchObject({
      ...daily,
      ...{ environment: 'production', timezone: 'UTC', timeoutSeconds: 3600, overlap: 'skip', enabled: true, lastRun: null },
    })
    expect(body.data.id).toMatch(/^crn_/)
    expect(Date.parse(body.data.nextRunAt)).toBeGreaterThan(Date.now())
    const cronJobId = body.data.id
    const changed = await on('PATCH /projects/:id/cron-jobs/:cronJobId', id, cronJobId, { enabled: false, command: ['a', 'b c'] })
    expect(changed.body.data).toMatchObject({ enabled: false, command: ['a', 'b c'], nextRunAt: null, schedule: daily.schedule })
    expect((await scene.request('GET /projects/:id/cron-jobs', id)).body.data).toEqual([changed.body.data])
    expect((await on('DELETE /projects/:id/cron-jobs/:cronJobId', id, cronJobId)).status).toBe(204)
    expect((await scene.request('GET /projects/:id/cron-jobs', id)).body.data).toEqual([])
    expect(await db().selectFrom('schedules').selectAll().where('key', '=', `cron-job:${cronJobId}`).execute()).toEqual([])
  })

  test.each([
    ['schedule', { schedule: 'now and then' }, 'cron_invalid'],
    ['schedule', { schedule: '0 0 30 2 *' }, 'cron_invalid'],
    ['timezone', { timezone: 'Mars/Base' }, 'validation_failed'],
    ['command', { command: "echo 'open" }, 'validation_failed'],
    ['command', { command: '   ' }, 'validation_failed'],
    ['command', { command: ['', 'a'] }, 'validation_failed'],
    ['environment', { environment: 'nowhere' }, 'validation_failed'],
    ['timeoutSeconds', { timeoutSeconds: 0 }, 'validation_failed'],
    ['overlap', { overlap: 'both' }, 'validation_failed'],
  ])('with a wrong %s is refused: %j', async (field, wrong, code) => {
    const { id } = await scene.makeApp()
    expect(await create(id, wrong)).toMatchObject({ status: 400, body: { code, field } })
  })

  test('runs its command in its own instance, with the variables and limits of the live version, and stores its output', async () => {
    const id = await liveApp()
    const { runtime } = scene.instance.drivers
    const requests: Parameters<typeof runtime.whileTask>[0][] = []
    runtime.whileTask = async (request, report) => {
      requests.push(request)
      report('tidied')
      return 0
    }
    const live = [...runtime.running.values()].find(({ request }) => request.owner.projectId === id)?.request
    const cronJobId = await made(id, { command: 'node -e "x; y" $HOME `id` a\\ b | tee; touch /tmp/pwned' })
    const { status, body } = await start(id, cronJobId)
    expect(status).toBe(202)
    expect(body.data).toMatchObject({ status: 'queued', exitCode: null, startedAt: null, finishedAt: null, trigger: 'manual' })
    await idle()
    const [run] = await runsOf(id, cronJobId)
    expect(run).toMatchObject({ id: body.data.id, status: 'succeeded', exitCode: 0, error: null, startedAt: expect.any(String) })
    expect(requests).toHaveLength(1)
    expect(requests[0]).toMatchObject({ port: null, restart: false, resources: live?.resources, env: live?.env })
    const words = ['node', '-e', 'x; y', '$HOME', '`id`', 'a b', '|', 'tee;', 'touch', '/tmp/pwned']
    expect(requests[0]?.command).toEqual(words)
    const { body: logs } = await scene.request('GET /cron-runs/:id/logs', run.id)
    expect(logs.data.map(({ message }: { message: string }) => message)).toEqual(['started', 'tidied'])
    // The instance is removed, and the live one still runs.
    expect([...runtime.running.values()].filter(({ request }) => request.owner.projectId === id)).toHaveLength(1)
  })

  test('that fails records its exit code, and members are notified at most once an hour', async () => {
    const id = await liveApp()
    scene.instance.drivers.runtime.whileTask = async () => 3
    const cronJobId = await made(id)
    for (let count = 0; count < 3; count++) {
      await start(id, cronJobId)
      await idle()
    }
    expect((await runsOf(id, cronJobId)).map((run: object) => run)).toEqual(
      Array(3).fill(expect.objectContaining({ status: 'failed', exitCode: 3, error: 'The command ended with exit code 3' })),
    )
    expect(await announced('task.failed', cronJobId)).toBe(1)
  })

  test('that never ends is stopped at its time limit', async () => {
    const id = await liveApp()
    const { runtime } = scene.instance.drivers
    runtime.whileTask = () => new Promise(() => {})
    const cronJobId = await made(id, { timeoutSeconds: 1 })
    await start(id, cronJobId)
    await idle()
    expect(await runsOf(id, cronJobId)).toMatchObject([{ status: 'timed_out', exitCode: null }])
    expect([...runtime.running.values()].filter(({ request }) => request.owner.projectId === id)).toHaveLength(1)
  })

  test.each([
    ['skip', ['skipped', 'skipped', 'succeeded']],
    ['queue', ['skipped', 'succeeded', 'succeeded']],
  ])('with overlap %s: no second run starts during a run', async (overlap, statuses) => {
    const id = await liveApp()
    const { begun, release } = held()
    const cronJobId = await made(id, { overlap })
    await fire(cronJobId)
    await begun
    try {
      for (let count = 2; count <= 3; count++) {
        moved += minute
        await fire(cronJobId)
        await expect.poll(async () => (await runsOf(id, cronJobId)).length).toBe(count)
      }
    } finally {
      release()
    }
    await idle()
    const runs = await runsOf(id, cronJobId)
    expect(runs.map(({ status }: { status: string }) => status)).toEqual(statuses)
    expect(new Set(runs.map(({ scheduledFor }: { scheduledFor: string }) => scheduledFor)).size).toBe(3)
    await on('DELETE /projects/:id/cron-jobs/:cronJobId', id, cronJobId)
  })

  test('whose times passed while no control plane was running is missed: one run and one notification per outage', async () => {
    const id = await liveApp()
    const cronJobId = await made(id)
    await fire(cronJobId, 5 * 24 * 60 * minute)
    await idle()
    expect(await runsOf(id, cronJobId)).toMatchObject([
      { status: 'missed', trigger: 'schedule', exitCode: null, startedAt: null, error: expect.stringContaining('times since') },
    ])
    expect(await announced('task.missed', cronJobId)).toBe(1)
  })

  test('does not run while its project is disabled; disabling ends a run', async () => {
    const id = await liveApp()
    const { begun } = held()
    const cronJobId = await made(id)
    await start(id, cronJobId)
    await begun
    const { runtime } = scene.instance.drivers
    await scene.request('POST /projects/:id/disable', id, {}, scene.people.admin.token)
    expect([...runtime.running.values()].filter(({ request }) => request.owner.projectId === id)).toEqual([])
    expect(await runsOf(id, cronJobId)).toMatchObject([{ status: 'failed', error: 'The project was disabled' }])
    expect(await start(id, cronJobId)).toMatchObject({ status: 409, body: { code: 'project_disabled' } })
    await fire(cronJobId)
    await idle()
    expect(await runsOf(id, cronJobId)).toHaveLength(1)
  })

  test('without a live version: 409 on request, skipped by its schedule', async () => {
    const { id } = await scene.makeApp()
    const cronJobId = await made(id)
    expect(await start(id, cronJobId)).toMatchObject({ status: 409, body: { code: 'conflict' } })
    await fire(cronJobId)
    await idle()
    expect(await runsOf(id, cronJobId)).toMatchObject([
      { status: 'skipped', error: expect.stringContaining('no live deployment') },
    ])
  })

  test('ends with its project: the run is stopped, and task, schedule and history are removed', async () => {
    const id = await liveApp()
    const { begun } = held()
    const cronJobId = await made(id)
    await start(id, cronJobId)
    await begun
    expect((await scene.request('DELETE /projects/:id', id, {}, scene.people.owner.token)).status).toBeLessThan(300)
    await idle()
    const { runtime } = scene.instance.drivers
    expect([...runtime.running.values()].filter(({ request }) => request.owner.projectId === id)).toEqual([])
    for (const table of ['cronJobs', 'cronRuns', 'projectOperations'] as const)
      expect(await db().selectFrom(table).select('id').where('projectId', '=', id).execute()).toEqual([])
    expect(await db().selectFrom('schedules').selectAll().where('key', '=', `cron-job:${cronJobId}`).execute()).toEqual([])
  })

  test('of another project or organisation is 404', async () => {
    const [one, other] = [await liveApp(), await liveApp()]
    const cronJobId = await made(one)
    await start(one, cronJobId)
    await idle()
    const [run] = await runsOf(one, cronJobId)
    const outsiders = await makePeople(scene.instance)
    const rows = [
      'PATCH /projects/:id/cron-jobs/:cronJobId',
      'DELETE /projects/:id/cron-jobs/:cronJobId',
      'POST /projects/:id/cron-jobs/:cronJobId/run',
      'GET /projects/:id/cron-jobs/:cronJobId/runs',
    ] as const
    for (const at of rows) {
      const body = at.startsWith('PATCH') ? { enabled: false } : undefined
      expect((await on(at, other, cronJobId, body)).status).toBe(404)
      expect((await on(at, one, cronJobId, body, outsiders.owner.token)).status).toBe(404)
    }
    const logs = await call(scene.instance, outsiders.owner.token, 'GET /cron-runs/:id/logs', { params: { id: run.id } })
    expect(logs.status).toBe(404)
    expect((await create(one, {}, scene.people.viewer.token)).status).toBe(403)
  })

  test('keeps a bounded history', async () => {
    const id = await liveApp()
    const cronJobId = await made(id)
    await start(id, cronJobId)
    await idle()
    const { id: _, ...run } = await db()
      .selectFrom('cronRuns')
      .selectAll()
      .where('cronJobId', '=', cronJobId)
      .executeTakeFirstOrThrow()
    const old = Array.from({ length: 150 }, (_value, at) => ({
      ...run,
      id: `crr_old${at}`,
      createdAt: run.createdAt - 1000 - at,
    }))
    await db().insertInto('cronRuns').values(old).execute()
    await start(id, cronJobId)
    await idle()
    const kept = await db().selectFrom('cronRuns').select('id').where('cronJobId', '=', cronJobId).execute()
    expect(kept).toHaveLength(100)
  })
})
