import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { deploymentFacts, MemoryDeployments, MemoryRuntime } from '../kit/project-ports.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

const runtime = new MemoryRuntime()
const deployments = new MemoryDeployments()
let ahead = 0
let instance: TestInstance
let people: People
let project: { id: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  instance = await startInstance(
    {},
    { projectPorts: { running: runtime, power: runtime, deployments }, clock: { now: () => new Date(Date.now() + ahead) } },
  )
  people = await makePeople(instance)
  await instance.jobs.start()
})
beforeEach(async () => {
  project = await makeProject(instance, people.member.token)
  deployments.known.set(project.id, { newest: deploymentFacts(), live: deploymentFacts() })
  await runtime.bringOnline(project.id)
  runtime.whileStopping = async () => {}
  on = callsOn(instance, people.member.token)(project)
})
afterAll(async () => {
  await instance.jobs.stop()
  await instance.stop()
})

const state = () => runtime.running.get(project.id)?.state
const shown = async () => {
  const { enabled, status } = (await on('GET', '')).body.data
  return { enabled, status }
}
/** The fallback job for a process that died is due a minute later. */
const minuteLater = async () => {
  ahead += 61_000
  await instance.jobs.whenIdle()
}

describe('POST /projects/:id/disable and /enable', () => {
  test('disable pauses deployments and takes the project offline; enable reverts both', async () => {
    expect(await shown()).toEqual({ enabled: true, status: 'live' })
    const disabled = await on('POST', '/disable')
    expect([disabled.status, disabled.body.data.enabled, disabled.body.data.status]).toEqual([200, false, 'disabled'])
    expect(state()).toBe('stopped')
    const enabled = await on('POST', '/enable')
    expect([enabled.status, enabled.body.data.enabled, enabled.body.data.status]).toEqual([200, true, 'live'])
    expect(state()).toBe('running')
  })

  test('both are idempotent', async () => {
    for (const path of ['/disable', '/disable', '/enable', '/enable'] as const) expect((await on('POST', path)).status).toBe(200)
    expect(await shown()).toEqual({ enabled: true, status: 'live' })
  })

  test('disable is recorded before stopping, so that no push is deployed in between', async () => {
    let whileStopping: unknown
    runtime.whileStopping = async () => {
      whileStopping = await shown()
    }
    await on('POST', '/disable')
    expect(whileStopping).toEqual({ enabled: false, status: 'disabled' })
  })

  test('disable is reverted if stopping fails', async () => {
    runtime.failure = new Error('the engine does not answer')
    const { status, body } = await on('POST', '/disable')
    expect([status, body.code]).toEqual([503, 'unavailable'])
    expect(JSON.stringify(body)).not.toContain('engine')
    expect(await shown()).toEqual({ enabled: true, status: 'live' })
    await minuteLater()
    expect(state()).toBe('running')
  })

  test('a project that was already disabled stays disabled if stopping fails', async () => {
    await on('POST', '/disable')
    runtime.failure = new Error('the engine does not answer')
    expect((await on('POST', '/disable')).status).toBe(503)
    expect(await shown()).toEqual({ enabled: false, status: 'disabled' })
    await minuteLater()
    expect(state()).toBe('stopped')
  })

  test('a failed start leaves the project enabled, is shown as its status, and is retried', async () => {
    await on('POST', '/disable')
    runtime.failure = new Error('no memory left')
    const { status, body } = await on('POST', '/enable')
    expect([status, body.data.enabled, body.data.status]).toEqual([200, true, 'stopped'])
    await minuteLater()
    expect(await shown()).toEqual({ enabled: true, status: 'live' })
  })

  test('if the process dies between recording and stopping, the project is stopped later', async () => {
    const died = Promise.withResolvers<never>()
    runtime.whileStopping = () => died.promise
    const disabling = on('POST', '/disable')
    while ((await shown()).enabled) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(state()).toBe('running')
    runtime.whileStopping = async () => {}
    await minuteLater()
    expect(state()).toBe('stopped')
    died.reject(new Error('the old process is gone'))
    await disabling
  })

  test('enable during a stop: the last request wins', async () => {
    const stopping = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    runtime.whileStopping = () => {
      begun.resolve()
      return stopping.promise
    }
    const disabling = on('POST', '/disable')
    await begun.promise
    await on('POST', '/enable')
    stopping.resolve()
    await disabling
    await instance.jobs.whenIdle()
    expect([await shown(), state()]).toEqual([{ enabled: true, status: 'live' }, 'running'])
  })
})
