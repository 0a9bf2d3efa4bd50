// gate: also on PostgreSQL, since versions replace each other under conditions
import type { Deployment } from '@berth/contract'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { EdgeTable, UpstreamsTarget } from '../../src/edge-proxy/protocol/edge-table.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterEach(() => {
  scene.instance.drivers.edge.beforeApply = async () => {}
  scene.instance.drivers.edge.refused = {}
})
afterAll(() => scene?.end())

const edge = () => scene.instance.drivers.edge
const runtime = () => scene.instance.drivers.runtime
const hostOf = ({ slug }: { slug: string }) => Object.keys(edge().table.hosts).find((name) => name.startsWith(`${slug}.`)) ?? ''
const targetIn = (table: EdgeTable, host: string) => table.hosts[host]?.target as UpstreamsTarget | undefined
const portsOf = (deploymentId: string) =>
  [...runtime().running.values()]
    .filter(({ instance }) => instance.owner.deploymentId === deploymentId)
    .map(({ instance }) => instance.address?.port)

/** A project with one live version. */
async function live(): Promise<{ app: { id: string; slug: string }; first: Deployment; host: string }> {
  const app = await scene.makeApp()
  const first = await scene.settled(await scene.deploy(app.id))
  expect(first.status).toBe('live')
  return { app, first, host: hostOf(app) }
}

describe('a switch that the edge refuses', () => {
  test('fails with the reason; the old version serves, and the new one is removed', async () => {
    const { app, first, host } = await live()
    const isNew = (table: EdgeTable) => targetIn(table, host)?.deploymentId !== first.id
    edge().beforeApply = async (table) => {
      if (isNew(table)) throw new Error('no room for another route')
    }
    const second = await scene.settled(await scene.deploy(app.id))
    expect(second).toMatchObject({ status: 'failed', error: { code: 'switch_failed' } })
    expect(second.error?.message).toContain('no room for another route')
    await expect.poll(() => portsOf(second.id)).toEqual([])
    expect(targetIn(edge().table, host)).toMatchObject({ deploymentId: first.id, upstreams: [{ port: portsOf(first.id)[0] }] })
    expect((await scene.request('GET /deployments/:id', first.id)).body.data.status).toBe('live')
  })

  test('because of one host: that deployment fails, others continue', async () => {
    const { app, host } = await live()
    edge().refused = { [host]: 'upstream u: 70000 is not a valid port' }
    const second = await scene.settled(await scene.deploy(app.id))
    expect(second).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('is not a valid port') } })
    const other = await scene.makeApp()
    expect((await scene.settled(await scene.deploy(other.id))).status).toBe('live')
  })

  test('a rollback fails in the same way', async () => {
    const { app, first, host } = await live()
    const second = await scene.settled(await scene.deploy(app.id))
    expect(second.status).toBe('live')
    edge().refused = { [host]: 'not today' }
    const answer = await scene.request('POST /deployments/:id/rollback', first.id)
    expect(answer.status).toBe(202)
    const back = await scene.settled(answer.body.data.deploymentId)
    expect(back).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('not today') } })
    expect((await scene.request('GET /deployments/:id', second.id)).body.data.status).toBe('live')
  })

  test('because the project was disabled meanwhile: enable starts the previous version', async () => {
    const { app, first, host } = await live()
    let disabling: ReturnType<Scene['request']> | undefined
    edge().beforeApply = async (table) => {
      const pointed = targetIn(table, host)?.deploymentId
      if (disabling || pointed === undefined || pointed === first.id) return
      disabling = scene.request('POST /projects/:id/disable', app.id)
      await expect.poll(async () => (await scene.request('GET /deployments/:id', pointed)).body.data.status).toBe('cancelled')
    }
    const second = await scene.settled(await scene.deploy(app.id))
    expect([second.status, (await disabling)?.status]).toEqual(['cancelled', 200])
    await expect.poll(() => [portsOf(first.id), portsOf(second.id)]).toEqual([[], []])
    await scene.instance.jobs.whenIdle()
    expect((await scene.request('POST /projects/:id/enable', app.id)).status).toBe(200)
    await expect.poll(() => portsOf(first.id)).toHaveLength(1)
    await expect.poll(async () => (await scene.request('GET /projects/:id', app.id)).body.data.status).toBe('live')
  })

  test('while the version that the edge serves is unknown, both run; a late success is reverted before the new one stops', async () => {
    const { app, first, host } = await live()
    let isAway = true
    let late: EdgeTable | undefined
    edge().beforeApply = async (table) => {
      if (!isAway) return
      if (targetIn(table, host)?.deploymentId !== first.id) late = table
      throw new Error('the edge did not answer')
    }
    const id = await scene.deploy(app.id)
    const second = await scene.settled(id)
    expect(second).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('did not answer') } })
    // The edge applied the table after all, and only its response was lost.
    edge().table = late as EdgeTable
    expect(targetIn(edge().table, host)?.upstreams[0]?.port).toBe(portsOf(id)[0])
    expect([portsOf(first.id).length, portsOf(id).length]).toEqual([1, 1])
    isAway = false
    await expect.poll(() => targetIn(edge().table, host)?.deploymentId).toBe(first.id)
    await expect.poll(() => portsOf(id)).toEqual([])
    expect(portsOf(first.id)).toHaveLength(1)
  })
})

describe('a restarted instance', () => {
  test('is removed from the table while it has no address, and added again with its new address', async () => {
    const { first, host } = await live()
    const [instanceId] = [...runtime().running.entries()].find(([, { instance }]) => instance.owner.deploymentId === first.id)!
    const before = portsOf(first.id)[0]
    const { comeBack } = runtime().crash(instanceId)
    await expect.poll(() => targetIn(edge().table, host)?.upstreams).toEqual([])
    comeBack()
    const after = portsOf(first.id)[0]
    expect(after).not.toBe(before)
    await expect.poll(() => targetIn(edge().table, host)?.upstreams[0]?.port).toBe(after)
  })
})
