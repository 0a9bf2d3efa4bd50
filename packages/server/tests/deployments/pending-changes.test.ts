import { ProjectConfig } from '@berth/contract'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { deployedColumns } from '../../src/modules/projects/records/pending-changes.ts'
import { held, type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterEach(() => {
  Object.assign(scene.instance.drivers.runtime, { whileBuilding: async () => {} })
})
afterAll(() => scene?.end())

const liveApp = async () => {
  const { id } = await scene.makeApp()
  await live(await scene.deploy(id))
  return id
}
const live = async (deploymentId: string) => expect(await scene.settled(deploymentId)).toMatchObject({ status: 'live' })
const record = async (id: string) => (await scene.request('GET /projects/:id', id)).body.data
const listed = async (id: string) =>
  (await scene.request('GET /projects', '')).body.data.find((project: { id: string }) => project.id === id)
const waiting = async (id: string) => {
  const { pendingChanges } = await record(id)
  expect((await listed(id)).pendingChanges).toEqual(pendingChanges)
  expect((await scene.request('GET /projects/:id/info', id)).body.data.pendingChanges).toEqual(pendingChanges)
  return pendingChanges
}
const change = async (at: `${string} /${string}`, id: string, body: object) =>
  expect((await scene.request(at, id, { body })).status).toBe(200)
const setVariable = (id: string, value: string, environment = 'production') =>
  change('PATCH /projects/:id/env', id, { environment, upserts: [{ key: 'GREETING', value, isSecret: true }] })
const restart = async (id: string, body: object = {}) => {
  const answer = await scene.request('POST /projects/:id/restart', id, { body })
  expect(answer.status).toBe(202)
  return answer.body.data.deploymentId as string
}
const running = (id: string) =>
  [...scene.instance.drivers.runtime.running.values()].filter(({ instance }) => instance.owner.projectId === id)

describe('pendingChanges: settings that were changed after the live deployment was created', () => {
  const changes: [string, (id: string) => Promise<unknown>, string[]][] = [
    ['a command', (id) => change('PATCH /projects/:id', id, { buildCommand: 'make' }), ['config']],
    ['the port', (id) => change('POST /projects/:id/options', id, { port: 8123 }), ['config']],
    ['a variable', (id) => setVariable(id, 'hello'), ['env']],
    ['memory', (id) => change('PATCH /projects/:id/resources', id, { production: { memoryMb: 256 } }), ['resources']],
    ['a name', (id) => change('PATCH /projects/:id', id, { name: 'Another' }), []],
    ['settings in force at once', (id) => change('PATCH /projects/:id', id, { autoDeploy: false, rollbackWindow: 3 }), []],
    ['a variable that is not there', (id) => change('PATCH /projects/:id/env', id, { deletes: ['NOWHERE'] }), []],
  ]

  test.each(changes)('%s', async (_, apply, expected) => {
    const id = await liveApp()
    expect(await waiting(id)).toEqual([])
    await apply(id)
    expect(await waiting(id)).toEqual(expected)
    await live(await scene.deploy(id))
    expect(await waiting(id)).toEqual([])
  })

  test('a setting that is changed back is no longer pending, and sending the same value is no change', async () => {
    const id = await liveApp()
    await change('PATCH /projects/:id', id, { buildCommand: 'make' })
    await change('PATCH /projects/:id', id, { buildCommand: null })
    expect(await waiting(id)).toEqual([])
    await setVariable(id, 'hello')
    await live(await scene.deploy(id))
    await setVariable(id, 'hello')
    expect(await waiting(id)).toEqual([])
  })

  test('a project that was never deployed has no pending changes; a failed deployment keeps them pending', async () => {
    const { id } = await scene.makeApp()
    await setVariable(id, 'hello')
    expect(await waiting(id)).toEqual([])
    await live(await scene.deploy(id))
    await setVariable(id, 'bye')
    scene.instance.drivers.runtime.whileBuilding = async () => {
      throw new Error('it does not build')
    }
    expect(await scene.settled(await scene.deploy(id))).toMatchObject({ status: 'failed' })
    expect(await waiting(id)).toEqual(['env'])
  })

  test('a variable of another environment is not pending for production', async () => {
    const id = await liveApp()
    expect((await scene.request('POST /projects/:id/environments', id, { body: { name: 'staging' } })).status).toBe(201)
    await setVariable(id, 'hello', 'staging')
    expect(await waiting(id)).toEqual([])
  })

  test('after a rollback the current settings are pending', async () => {
    const id = await liveApp()
    const [first] = (await scene.request('GET /projects/:id/deployments', id)).body.data
    await setVariable(id, 'hello')
    await live(await scene.deploy(id))
    await live((await scene.request('POST /deployments/:id/rollback', first.id)).body.data.deploymentId)
    expect(await waiting(id)).toEqual(['env'])
    await expect.poll(() => running(id).map(({ request }) => request.env.GREETING)).toEqual([undefined])
  })

  test('every field of config either is pending until a deployment or takes effect at once', () => {
    const atOnce = ['sleepMode', 'autoDeploy', 'previews', 'previewsMaximum', 'previewsMaxAgeDays']
    const others = ['previewsUseProductionVariables', 'rollbackWindow', 'webhookDomain']
    const compared = [...deployedColumns, 'port', 'resources']
    const fields = Object.keys(ProjectConfig.properties)
    expect(fields.filter((field) => ![...compared, ...atOnce, ...others].includes(field))).toEqual([])
  })
})

describe('POST /projects/:id/restart', () => {
  test('202: current variables and resources take effect without a build, after a health check', async () => {
    const id = await liveApp()
    const [before] = running(id)
    let builds = 0
    scene.instance.drivers.runtime.whileBuilding = async () => void builds++
    await setVariable(id, 'hello')
    await change('PATCH /projects/:id/resources', id, { production: { memoryMb: 256 } })
    await change('PATCH /projects/:id', id, { buildCommand: 'make' })
    expect(await waiting(id)).toEqual(['config', 'env', 'resources'])
    const deploymentId = await restart(id)
    await live(deploymentId)
    expect(await waiting(id), 'a command needs a build').toEqual(['config'])
    expect(builds).toBe(0)
    await expect.poll(() => running(id).length).toBe(1)
    const [after] = running(id)
    expect(after!.instance.instanceId).not.toBe(before!.instance.instanceId)
    expect(after!.request.artifact).toEqual(before!.request.artifact)
    expect(after!.request.env.GREETING).toBe('hello')
    expect(after!.request.resources.memoryMb).toBe(256)
    const steps = (await scene.request('GET /deployments/:id', deploymentId)).body.data.steps
    expect(steps.find(({ name }: { name: string }) => name === 'build').status).toBe('skipped')
  })

  test('a restart that does not become healthy leaves the old version serving, with its variables', async () => {
    const id = await liveApp()
    await setVariable(id, 'hello')
    const serving = running(id).map(({ instance }) => instance.instanceId)
    await change('PATCH /projects/:id', id, { healthCheck: { timeoutSeconds: 1 } })
    scene.instance.drivers.runtime.failingPaths.add('/')
    const failed = await scene.settled(await restart(id).then(cancelLate))
    scene.instance.drivers.runtime.failingPaths.clear()
    expect(failed.status).not.toBe('live')
    await expect.poll(() => running(id).map(({ instance }) => instance.instanceId)).toEqual(serving)
    expect(await waiting(id)).toEqual(['config', 'env'])
  })
  /** The health check of the live deployment waits longer than a test should. */
  const cancelLate = async (deploymentId: string) => {
    const isChecked = async () => {
      const { steps } = (await scene.request('GET /deployments/:id', deploymentId)).body.data
      return steps.some(({ name, status }: { name: string; status: string }) => name === 'health' && status === 'running')
    }
    await expect.poll(isChecked).toBe(true)
    await scene.request('POST /deployments/:id/cancel', deploymentId)
    return deploymentId
  }

  test('409 work_in_progress during a deployment; a deployment requested during a restart follows it', async () => {
    const id = await liveApp()
    const building = held()
    scene.instance.drivers.runtime.whileBuilding = building.whileBuilding
    const deploymentId = await scene.deploy(id)
    await building.begun
    const refused = await scene.request('POST /projects/:id/restart', id)
    expect([refused.status, refused.body.code]).toEqual([409, 'work_in_progress'])
    building.release()
    await live(deploymentId)
    await expect.poll(async () => (await scene.request('POST /projects/:id/restart', id)).status).toBe(202)
    await live(await scene.deploy(id))
  })

  test('409: no live deployment, a static site, a disabled project; 400: an unknown environment; 403: a viewer', async () => {
    const { id } = await scene.makeApp()
    const answer = async (of: string, body = {}, token = scene.people.member.token) => {
      const { status, body: output } = await scene.request('POST /projects/:id/restart', of, { body }, token)
      return [status, output.code]
    }
    expect(await answer(id)).toEqual([409, 'nothing_to_restart'])
    expect(await answer(id, { environment: 'nowhere' })).toEqual([400, 'validation_failed'])
    expect(await answer(id, {}, scene.people.viewer.token)).toEqual([403, 'forbidden'])
    const site = await scene.deployFiles('site', { 'index.html': '<h1>' })
    expect(await answer(site.projectId)).toEqual([409, 'nothing_to_restart'])
    const disabled = await liveApp()
    await scene.request('POST /projects/:id/disable', disabled)
    expect(await answer(disabled)).toEqual([409, 'project_disabled'])
  })
})

describe('the plan of a deployment', () => {
  test('the record shows the detected values, and info the running version beside the settings', async () => {
    const files = {
      'package.json': JSON.stringify({ name: 'x', scripts: { start: 'node server.js' }, dependencies: { express: '5' } }),
      'server.js': 'require("express")().listen(4567)',
    }
    const deployment = await scene.deployFiles('detected', files)
    expect(deployment.status).toBe('live')
    expect(deployment.plan).toMatchObject({
      ...{ type: 'app', framework: 'express', packageManager: 'npm', outputDirectory: null, branch: null },
      ...{ startCommand: expect.any(String), port: expect.any(Number) },
    })
    expect(Object.keys(deployment.plan!).sort()).toEqual(
      'branch buildCommand framework installCommand outputDirectory packageManager port startCommand type'.split(' '),
    )
    const { projectId: id } = deployment
    const info = (await scene.request('GET /projects/:id/info', id)).body.data
    expect(info).toMatchObject({
      plan: deployment.plan,
      runtime: { deploymentId: deployment.id, port: deployment.plan!.port },
      build: { framework: 'express', startCommand: deployment.plan!.startCommand },
      source: { kind: 'local' },
      settings: { type: 'app', config: { framework: null }, source: { kind: 'local' } },
    })
    await change('PATCH /projects/:id', id, { startCommand: 'node other.js', port: 9000 })
    const changed = (await scene.request('GET /projects/:id/info', id)).body.data
    expect(changed).toMatchObject({ plan: deployment.plan, settings: { config: { startCommand: 'node other.js', port: 9000 } } })
    expect(changed.runtime.port).toBe(deployment.plan!.port)
  })

  test('is null until the deployment was planned', async () => {
    const { id } = await scene.makeApp()
    expect((await scene.request('GET /projects/:id/info', id)).body.data).toMatchObject({ plan: null, runtime: { port: null } })
    const { runtime } = scene.instance.drivers
    runtime.whileBuilding = async () => {
      throw new Error('it does not build')
    }
    const { plan, status } = await scene.settled(await scene.deploy(id))
    expect([status, plan?.type]).toEqual(['failed', 'app'])
  })
})

describe('always_on wakes a sleeping project', () => {
  const ways: [string, `${string} /${string}`, object][] = [
    ['sleep-mode', 'POST /projects/:id/sleep-mode', { sleepMode: 'always_on' }],
    ['resources', 'PATCH /projects/:id/resources', { sleepMode: 'always_on' }],
    ['options', 'POST /projects/:id/options', { sleepMode: 'always_on' }],
    ['the project', 'PATCH /projects/:id', { sleepMode: 'always_on' }],
  ]
  test.each(ways)('by %s', async (_, at, body) => {
    const id = await liveApp()
    await change('POST /projects/:id/sleep-mode', id, { sleepMode: 'auto_sleep' })
    await scene.instance.database.db
      .updateTable('liveEnvironments')
      .set({ state: 'sleeping' })
      .where('projectId', '=', id)
      .execute()
    for (const { instance } of running(id)) await scene.instance.drivers.runtime.stop(instance.instanceId)
    await scene.instance.database.db.deleteFrom('instances').where('projectId', '=', id).execute()
    expect((await record(id)).status).toBe('sleeping')
    await change(at, id, body)
    await expect.poll(async () => (await record(id)).status).toBe('live')
    expect(running(id).length).toBe(1)
  })
})

test('GET /deployments/:id/changes: variables by name and settings changed since the previous live version', async () => {
  const id = await liveApp()
  const changesOf = async (deploymentId: string) => (await scene.request('GET /deployments/:id/changes', deploymentId)).body.data
  await setVariable(id, 'hello')
  await change('POST /projects/:id/options', id, { port: 8123 })
  const second = await scene.deploy(id)
  await live(second)
  expect(await changesOf(second)).toEqual({
    previous: { id: expect.any(String), number: 1, commit: null },
    variables: { added: ['GREETING'], changed: [], removed: [] },
    settings: [{ name: 'port', from: expect.any(String), to: '8123' }],
  })
  await setVariable(id, 'good day')
  const third = await scene.deploy(id)
  await live(third)
  expect(await changesOf(third)).toMatchObject({ previous: { id: second }, variables: { changed: ['GREETING'] }, settings: [] })
  expect(JSON.stringify(await changesOf(third))).not.toContain('good day')
})
