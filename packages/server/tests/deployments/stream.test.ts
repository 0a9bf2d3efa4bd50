// gate: also on PostgreSQL, since what is told is read again from the database
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type EventReader, readEvents } from '../kit/event-reader.ts'
import { held, type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterEach(() => {
  scene.instance.drivers.runtime.whileBuilding = async () => {}
})
afterAll(() => scene?.end())

const open = (id: string, headers: Record<string, string> = {}): Promise<EventReader> =>
  readEvents(`${scene.url}/api/deployments/${id}/stream`, { authorization: `Bearer ${scene.people.viewer.token}`, ...headers })
const kinds = ({ events }: EventReader) => events.map(({ event }) => event)
const lines = ({ events }: EventReader) => events.filter(({ event }) => event === 'log')
const messages = (reader: EventReader) => lines(reader).map(({ data }) => data.message as string)

describe('GET /deployments/:id/stream', () => {
  test('snapshot first, then steps and lines, complete last, and then it closes', async () => {
    const { whileBuilding, begun, release } = held()
    scene.instance.drivers.runtime.whileBuilding = whileBuilding
    const { id: projectId } = await scene.makeApp()
    const id = await scene.deploy(projectId)
    await begun
    const reader = await open(id)
    await expect.poll(() => messages(reader)).toContain('building')
    expect(kinds(reader)).not.toContain('complete')
    release()
    await reader.ended
    expect([kinds(reader)[0], kinds(reader).at(-1)]).toEqual(['snapshot', 'complete'])
    expect(kinds(reader).filter((kind) => kind === 'complete' || kind === 'snapshot')).toHaveLength(2)
    expect(reader.events[0]?.data).toMatchObject({ id, status: 'building' })
    expect(reader.events.at(-1)?.data).toMatchObject({ id, status: 'live' })
    const steps = reader.events.filter(({ event }) => event === 'step').map(({ data }) => `${data.name} ${data.status}`)
    expect(steps.slice(0, 3)).toEqual(['build succeeded', 'start running', 'start succeeded'])
    expect(messages(reader).indexOf('building')).toBeLessThan(messages(reader).indexOf('built'))
  })

  test('a reader that connects when the deployment goes live finds the switch finished, with its final time', async () => {
    const { logStore } = scene.instance
    const { id: projectId } = await scene.makeApp()
    const seen: Promise<unknown>[] = []
    const append = vi.spyOn(logStore, 'append')
    onTestFinished(() => append.mockRestore())
    const switched = async (id: string) => {
      const { steps } = (await scene.request('GET /deployments/:id', id)).body.data
      return steps.find(({ name }: { name: string }) => name === 'switch')
    }
    append.mockImplementation(async (...call) => {
      // Written after the status was stored, and before readers of the stream are notified of the step.
      for (const entry of call[2])
        if ('deploymentId' in entry && 'message' in entry && entry.message === 'Live' && entry.deploymentId)
          seen.push(switched(entry.deploymentId))
      await Promise.all(seen)
    })
    const id = await scene.deploy(projectId)
    await scene.settled(id)
    await expect.poll(() => seen).toHaveLength(1)
    expect(await seen[0]).toMatchObject({ status: 'succeeded' })
    expect(await switched(id)).toEqual(await seen[0])
  })

  test('the stream of a finished deployment has its snapshot, lines and complete, and closes', async () => {
    const { id: projectId } = await scene.makeApp()
    const id = await scene.deploy(projectId)
    await scene.settled(id)
    const reader = await open(id)
    await reader.ended
    expect([kinds(reader)[0], kinds(reader).at(-1), new Set(kinds(reader).slice(1, -1))]).toEqual([
      'snapshot',
      'complete',
      new Set(['log']),
    ])
  })

  test('resuming with Last-Event-ID repeats and loses no line', async () => {
    const { whileBuilding, begun, release } = held()
    scene.instance.drivers.runtime.whileBuilding = async (request, report, abort) => {
      for (let line = 0; line < 50; line++) report(`line ${line}`)
      await whileBuilding(request, report, abort)
      for (let line = 50; line < 100; line++) report(`line ${line}`)
    }
    const { id: projectId } = await scene.makeApp()
    const id = await scene.deploy(projectId)
    await begun
    const first = await open(id)
    await expect.poll(() => messages(first)).toContain('line 49')
    first.close()
    const lastId = lines(first).at(-1)?.id as string
    release()
    const second = await open(id, { 'last-event-id': lastId })
    await second.ended
    const whole = await open(id)
    await whole.ended
    const both = [...lines(first), ...lines(second)]
    expect(both.map((line) => line.id)).toEqual(lines(whole).map((line) => line.id))
    expect(messages(whole).filter((message) => message.startsWith('line '))).toEqual(
      Array.from({ length: 100 }, (_, line) => `line ${line}`),
    )
  })

  test('404: a deployment of another organisation', async () => {
    expect((await open('dep_unknown')).status).toBe(404)
  })
})
