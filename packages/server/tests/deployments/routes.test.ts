// gate: also on PostgreSQL, since deployments change their states under conditions
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { BuildFailed } from '../../src/drivers/runtime/runtime-errors.ts'
import { call } from '../kit/call.ts'
import { makePeople } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { held, type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterEach(() => {
  Object.assign(scene.instance.drivers.runtime, { whileBuilding: async () => {}, isHealthy: true })
})
afterAll(() => scene?.end())

const build = (body: object, token = scene.people.member.token) =>
  call(scene.instance, token, 'POST /deployments/build/access', { body })

describe('POST /deployments/build/access', () => {
  test('202: the deployment with its stream URL; it becomes live and gets a route', async () => {
    const project = await scene.makeApp()
    const { status, body } = await build({ projectId: project.id })
    const { deploymentId } = body.data
    expect({ status, body }).toEqual({
      status: 202,
      body: { data: { deploymentId, projectId: project.id, streamUrl: `/api/deployments/${deploymentId}/stream` } },
    })
    expect(await scene.settled(deploymentId)).toMatchObject({
      id: deploymentId,
      projectId: project.id,
      environment: 'production',
      number: 1,
      trigger: 'manual',
      status: 'live',
      url: `http://${project.slug}.localhost:4080`,
      error: null,
      createdBy: scene.people.member.userId,
      sizeBytes: 1,
    })
    expect(scene.instance.drivers.edge.table.hosts[`${project.slug}.localhost`]?.target).toMatchObject({
      kind: 'upstreams',
      deploymentId,
    })
  })
  test('404: an unknown project, or one of another organisation', async () => {
    const others = await makePeople(scene.instance)
    const theirs = await makeProject(scene.instance, others.owner.token)
    for (const projectId of ['prj_unknown', theirs.id])
      expect(await build({ projectId })).toMatchObject({ status: 404, body: { code: 'not_found', field: 'projectId' } })
  })
  test('404: an unknown upload session', async () => {
    const { id: projectId } = await scene.makeApp()
    expect(await build({ projectId, uploadSessionId: 'upl_unknown' })).toMatchObject({
      status: 404,
      body: { field: 'uploadSessionId' },
    })
  })
  test('403: a user with read access', async () => {
    const { id: projectId } = await scene.makeApp()
    expect(await build({ projectId }, scene.people.viewer.token)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  })
  test('400: an unknown environment', async () => {
    const { id: projectId } = await scene.makeApp()
    expect(await build({ projectId, environment: 'nowhere' })).toMatchObject({ status: 400, body: { field: 'environment' } })
  })
  test('409: a disabled project, and one without a source', async () => {
    const { id: projectId } = await scene.makeApp()
    await scene.request('POST /projects/:id/disable', projectId)
    expect(await build({ projectId })).toMatchObject({ status: 409, body: { code: 'project_disabled' } })
    const { id } = await makeProject(scene.instance, scene.people.member.token)
    expect(await build({ projectId: id })).toMatchObject({ status: 409, body: { code: 'nothing_to_deploy' } })
  })
  test('a failed build reports the reason and its last lines', async () => {
    scene.instance.drivers.runtime.whileBuilding = async (_, report) => {
      report('compiling')
      throw new BuildFailed('command_failed', '`npm run build` ended with exit code 2', ['compiling', 'syntax error'])
    }
    const { id } = await scene.makeApp()
    expect(await scene.settled(await scene.deploy(id))).toMatchObject({
      status: 'failed',
      error: {
        code: 'build_command_failed',
        message: '`npm run build` ended with exit code 2',
        logTail: ['compiling', 'syntax error'],
      },
    })
    expect(scene.instance.drivers.runtime.running.size).toBe(
      (await scene.instance.database.db.selectFrom('instances').selectAll().execute()).length,
    )
  })
})

describe('GET /deployments', () => {
  test('newest first, filtered by project, environment and status, in pages', async () => {
    const { id: projectId } = await scene.makeApp()
    const ids: string[] = []
    for (let count = 0; count < 5; count++) {
      ids.push(await scene.deploy(projectId))
      await scene.settled(ids.at(-1) as string)
    }
    const list = async (query: object) => (await scene.request('GET /deployments', '', { query })).body
    const first = await list({ projectId, limit: 2 })
    const second = await list({ projectId, limit: 2, cursor: first.nextCursor })
    const third = await list({ projectId, limit: 2, cursor: second.nextCursor })
    const shown = [first, second, third].map(({ data }) => data.map(({ id }: { id: string }) => id))
    expect(shown).toEqual([ids.slice(3).toReversed(), ids.slice(1, 3).toReversed(), ids.slice(0, 1)])
    expect(third.nextCursor).toBeNull()
    expect((await list({ projectId, status: 'live' })).data.map(({ id }: { id: string }) => id)).toEqual([ids[4]])
    expect(await list({ projectId, environment: 'other' })).toMatchObject({ code: 'validation_failed', field: 'environment' })
    expect(await scene.request('GET /deployments', '', { query: { cursor: 'bad' } })).toMatchObject({ status: 400 })
  })
  test('another organisation sees none of them; each is 404', async () => {
    const { id: projectId } = await scene.makeApp()
    const id = await scene.deploy(projectId)
    const { owner } = await makePeople(scene.instance)
    expect((await scene.request('GET /deployments', '', {}, owner.token)).body.data).toEqual([])
    for (const at of [
      'GET /deployments/:id',
      'GET /deployments/:id/logs',
      'POST /deployments/:id/cancel',
      'POST /deployments/:id/redeploy',
      'POST /deployments/:id/rollback',
    ] as const)
      expect(await scene.request(at, id, {}, owner.token)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    await scene.settled(id)
  })
})

describe('GET /deployments/:id/logs', () => {
  test('oldest first, in pages, every line once', async () => {
    scene.instance.drivers.runtime.whileBuilding = async (_, report) => {
      for (let line = 0; line < 25; line++) report(`line ${line}`)
    }
    const { id: projectId } = await scene.makeApp()
    const id = await scene.deploy(projectId)
    await scene.settled(id)
    const all = (await scene.request('GET /deployments/:id/logs', id)).body.data
    expect(all.map(({ message }: { message: string }) => message)).toEqual(
      expect.arrayContaining(Array.from({ length: 25 }, (_, line) => `line ${line}`)),
    )
    const paged: unknown[] = []
    let cursor: string | null = null
    do {
      const { body } = await scene.request('GET /deployments/:id/logs', id, {
        query: { limit: 7, ...(cursor ? { cursor } : {}) },
      })
      expect(body.data.length).toBeLessThanOrEqual(7)
      paged.push(...body.data)
      cursor = body.nextCursor
    } while (cursor)
    expect(paged).toEqual(all)
    expect(await scene.request('GET /deployments/:id/logs', id, { query: { cursor: 'bad' } })).toMatchObject({ status: 400 })
  })
})

describe('POST /deployments/:id/cancel', () => {
  test('200 while it is in progress; a late success does not overwrite it; then 409', async () => {
    const { whileBuilding, begun, release } = held()
    scene.instance.drivers.runtime.whileBuilding = whileBuilding
    const { id: projectId } = await scene.makeApp()
    const id = await scene.deploy(projectId)
    await begun
    expect(await scene.request('POST /deployments/:id/cancel', id)).toMatchObject({
      status: 200,
      body: { data: { status: 'cancelled' } },
    })
    release()
    await scene.instance.jobs.whenIdle()
    expect((await scene.settled(id)).status).toBe('cancelled')
    expect(await scene.request('POST /deployments/:id/cancel', id)).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(await scene.request('POST /deployments/:id/cancel', id, {}, scene.people.viewer.token)).toMatchObject({ status: 403 })
  })

  test('a cancelled build reports only that it was cancelled', async () => {
    const begun = Promise.withResolvers<void>()
    scene.instance.drivers.runtime.whileBuilding = (_request, _report, abort) =>
      new Promise((_resolve, reject) => {
        abort.addEventListener('abort', () => reject(new Error('the program was ended by a signal')))
        begun.resolve()
      })
    const { id: projectId } = await scene.makeApp()
    const id = await scene.deploy(projectId)
    await begun.promise
    await scene.request('POST /deployments/:id/cancel', id)
    await scene.instance.jobs.whenIdle()
    const { data } = (await scene.request('GET /deployments/:id/logs', id)).body
    expect(data.at(-1).message).toBe('The deployment was cancelled')
    expect(JSON.stringify(data)).not.toContain('went wrong')
  })
})

describe('POST /deployments/:id/rollback and /redeploy', () => {
  const setEnv = (id: string, value: string) =>
    scene.request('PATCH /projects/:id/env', id, { body: { upserts: [{ key: 'WHO', value }] } })
  const envOf = (deploymentId: string) =>
    [...scene.instance.drivers.runtime.running.values()].find(({ request }) => request.owner.deploymentId === deploymentId)
      ?.request.env

  test('202: rollback starts the kept artifact with its env and config; redeploy builds with the current ones', async () => {
    const { id: projectId } = await scene.makeApp()
    await setEnv(projectId, 'first')
    const first = await scene.deploy(projectId)
    await scene.settled(first)
    await setEnv(projectId, 'second')
    await scene.settled(await scene.deploy(projectId))
    const back = await scene.request('POST /deployments/:id/rollback', first)
    expect(back.status).toBe(202)
    expect(await scene.settled(back.body.data.deploymentId)).toMatchObject({ status: 'live', trigger: 'rollback', number: 3 })
    await scene.instance.jobs.whenIdle()
    expect(envOf(back.body.data.deploymentId)).toMatchObject({ WHO: 'first' })
    const again = await scene.request('POST /deployments/:id/redeploy', first)
    expect(again.status).toBe(202)
    expect(await scene.settled(again.body.data.deploymentId)).toMatchObject({ status: 'live', trigger: 'redeploy' })
    await scene.instance.jobs.whenIdle()
    expect(envOf(again.body.data.deploymentId)).toMatchObject({ WHO: 'second' })
  })
  test('409: a deployment that was never live; a disabled project', async () => {
    const { id: projectId } = await scene.makeApp()
    const good = await scene.deploy(projectId)
    await scene.settled(good)
    scene.instance.drivers.runtime.whileBuilding = async () => {
      throw new BuildFailed('command_failed', 'no')
    }
    const bad = await scene.deploy(projectId)
    await scene.settled(bad)
    expect(await scene.request('POST /deployments/:id/rollback', bad)).toMatchObject({
      status: 409,
      body: { code: 'nothing_to_roll_back_to' },
    })
    await scene.request('POST /projects/:id/disable', projectId)
    for (const at of ['POST /deployments/:id/rollback', 'POST /deployments/:id/redeploy'] as const)
      expect(await scene.request(at, good)).toMatchObject({ status: 409, body: { code: 'project_disabled' } })
  })
})
