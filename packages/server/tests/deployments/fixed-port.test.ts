import type { Deployment } from '@berth/contract'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Instance } from '../../src/drivers/runtime/runtime.ts'
import type { EdgeTable } from '../../src/edge-proxy/protocol/edge-table.ts'
import { type Scene, setScene } from './scene.ts'

/** Each test uses another port, so that leftovers of an earlier one have no effect. */
let fixed = 3000
/** The port that each project's program listens on. */
const portOf = new Map<string, number>()
let scene: Scene
/** Deployments whose program exits by itself. */
const broken = new Set<string>()
/** Tables that the edge received while the previous version was being stopped. */
let tables: EdgeTable[]
beforeAll(async () => {
  scene = await setScene()
  const { runtime, edge } = scene.instance.drivers
  const start = runtime.start.bind(runtime)
  edge.beforeApply = async (table) => void tables.push(table)
  // A program with a fixed port: it gets the port, or exits because another program has it.
  runtime.start = async (request) => {
    const port = portOf.get(request.owner.projectId) ?? fixed
    portOf.set(request.owner.projectId, port)
    const holders = [...runtime.running.values()].filter(({ instance }) => instance.address?.port === port)
    const instance = await start(request)
    const kept = runtime.running.get(request.instanceId)!
    const ended: Partial<Instance> = { state: 'exited', exitCode: 1, address: null }
    const isTaken = holders.some((one) => one !== kept)
    if (isTaken) kept.instance = { ...instance, ...ended, portTaken: port }
    else if (broken.has(request.owner.deploymentId)) kept.instance = { ...instance, ...ended }
    else kept.instance = { ...instance, address: { host: '127.0.0.1', port } }
    return kept.instance
  }
})
afterEach(() => {
  fixed += 1
  scene.instance.drivers.runtime.whileBuilding = async () => {}
})
afterAll(() => scene?.end())

const runningOf = (projectId: string): Instance[] =>
  [...scene.instance.drivers.runtime.running.values()].flatMap(({ instance }) =>
    instance.owner.projectId === projectId ? [instance] : [],
  )
const targets = (slug: string) =>
  tables.map((table) => Object.entries(table.hosts).find(([host]) => host.startsWith(`${slug}.`))?.[1].target.kind)
const linesOf = async (id: string): Promise<string> => JSON.stringify((await scene.request('GET /deployments/:id/logs', id)).body)

/** A project whose first version serves at its fixed port. */
async function live() {
  tables = []
  const app = await scene.makeApp()
  const first = await scene.settled(await scene.deploy(app.id))
  expect(first.status).toBe('live')
  return { app, first }
}
const deployed = async (projectId: string): Promise<Deployment> => scene.settled(await scene.deploy(projectId))

describe('a project whose program has a fixed port', () => {
  test('is deployed again: the previous version stops first, requests wait, and the log says why', async () => {
    const { app, first } = await live()
    tables = []
    const second = await deployed(app.id)
    expect(second).toMatchObject({ status: 'live', error: null })
    expect((await scene.request('GET /deployments/:id', first.id)).body.data.status).toBe('superseded')
    expect(runningOf(app.id)).toMatchObject([{ owner: { deploymentId: second.id }, address: { port: fixed } }])
    expect(targets(app.slug)).toContain('sleeping')
    const { table } = scene.instance.drivers.edge
    const [host] = Object.entries(table.hosts).flatMap(([name, one]) => (name.startsWith(`${app.slug}.`) ? [one] : []))
    expect(host?.target).toMatchObject({ kind: 'upstreams', deploymentId: second.id })
    expect(await linesOf(second.id)).toContain(`ignores PORT and listens on port ${fixed}`)
  })

  test('returns to the previous version if the new one does not start', async () => {
    const { app, first } = await live()
    scene.instance.drivers.runtime.whileBuilding = async ({ owner }) => void broken.add(owner.deploymentId)
    const second = await deployed(app.id)
    expect(second.status).toBe('failed')
    await expect.poll(() => runningOf(app.id).map(({ owner }) => owner.deploymentId)).toEqual([first.id])
    expect((await scene.request('GET /deployments/:id', first.id)).body.data.status).toBe('live')
    await expect.poll(() => targets(app.slug).at(-1)).toBe('upstreams')
  })

  test('that another project uses is refused with the port and the remedy; the other project keeps serving', async () => {
    const { app, first } = await live()
    const other = await scene.makeApp()
    const refused = await deployed(other.id)
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'port_taken' } })
    expect(refused.error?.message).toContain(`port ${fixed}`)
    expect(refused.error?.message).toContain('PORT')
    expect(runningOf(app.id)).toMatchObject([{ state: 'running', owner: { deploymentId: first.id } }])
  })
})
