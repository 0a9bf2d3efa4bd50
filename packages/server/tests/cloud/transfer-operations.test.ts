import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { CloudApi } from '../../src/drivers/cloud-api/cloud-api.ts'
import { createCloudApi } from '../../src/drivers/cloud-api/http-cloud-api.ts'
import { type Answer, call } from '../kit/call.ts'
import { setTransferScene, type TransferScene } from './transfer-scene.ts'

type Side = 'here' | 'cloud'
type Direction = 'to-cloud' | 'to-self-hosted'
interface Held {
  begun: Promise<void>
  release(): void
}

/** Work waits here until the test releases it. */
class Gate {
  #held: { begun: PromiseWithResolvers<void>; going: PromiseWithResolvers<void> } | undefined

  hold(): Held {
    const held = { begun: Promise.withResolvers<void>(), going: Promise.withResolvers<void>() }
    this.#held = held
    return { begun: held.begun.promise, release: () => this.open() }
  }

  async pass(): Promise<void> {
    this.#held?.begun.resolve()
    await this.#held?.going.promise
  }

  open(): void {
    this.#held?.going.resolve()
    this.#held = undefined
  }
}

const gatesOf = () => ({ readVolume: new Gate(), build: new Gate(), writeVolume: new Gate() })
const gates = { here: gatesOf(), cloud: gatesOf() }
/** The cloud has decided: the arrival is active, or the departure is departed. */
const decided = new Gate()

function decisionsHeld(api: CloudApi): CloudApi {
  const isDecision = ({ method, body }: Parameters<CloudApi['send']>[1]) =>
    method === 'PATCH' && typeof body === 'string' && /"state":"(active|departed)"/.test(body)
  return {
    async send(address, request) {
      const answer = await api.send(address, request)
      if (isDecision(request)) await decided.pass()
      return answer
    },
    close: () => api.close(),
  }
}

let scene: TransferScene
beforeAll(async () => {
  scene = await setTransferScene({ cloudApi: decisionsHeld(createCloudApi()) })
  for (const side of ['here', 'cloud'] as const) {
    const { runtime } = scene[side].drivers
    const { readVolume, writeVolume } = runtime
    runtime.whileBuilding = () => gates[side].build.pass()
    runtime.readVolume = async function* (id) {
      await gates[side].readVolume.pass()
      yield* readVolume.call(runtime, id)
    }
    runtime.writeVolume = async (id, tar) => {
      await gates[side].writeVolume.pass()
      return writeVolume.call(runtime, id, tar)
    }
  }
})
afterEach(() => {
  for (const gate of [...Object.values(gates.here), ...Object.values(gates.cloud), decided]) gate.open()
})
afterAll(() => scene?.end())

const sidesOf = (direction: Direction): { source: Side; target: Side } =>
  direction === 'to-cloud' ? { source: 'here', target: 'cloud' } : { source: 'cloud', target: 'here' }

/** Each phase, with the work that keeps the move in it. */
const phases = {
  packing: (direction) => gates[sidesOf(direction).source].readVolume,
  staging: (direction) => gates[sidesOf(direction).target].build,
  landing: (direction) => gates[sidesOf(direction).target].writeVolume,
  committing: () => decided,
} satisfies Record<string, (direction: Direction) => Gate>

const send = (at: Parameters<typeof call>[2], input: Parameters<typeof call>[3]) =>
  call(scene.here, scene.people.owner.token, at, input)

const requests: Record<string, (id: string) => Promise<Answer>> = {
  'a change': (id) => send('PATCH /projects/:id', { params: { id }, body: { name: 'Late' } }),
  'a change of variables': (id) =>
    send('PATCH /projects/:id/env', { params: { id }, body: { upserts: [{ key: 'LATE', value: 'yes' }] } }),
  'a deployment': (id) => send('POST /deployments/build/access', { body: { projectId: id } }),
}

const sql = /unique|constraint|insert into|select |sqlite|postgres|relation /i

const cases = (['to-cloud', 'to-self-hosted'] as const).flatMap((direction) =>
  (Object.keys(phases) as (keyof typeof phases)[]).map((phase) => [direction, phase] as const),
)

test.each(cases)(
  'during a transfer %s in the state %s, changes and deployments are 409 work_in_progress; the record can be read, and the transfer completes',
  async (direction, phase) => {
    const { source, target } = sidesOf(direction)
    const { id, slug } = await scene.makeLive()
    await scene.setVolume('here', id, 'carried')
    if (direction === 'to-self-hosted') expect((await scene.move(id, 'to-cloud')).status).toBe(200)
    const held = phases[phase](direction).hold()
    const moving = scene.move(id, direction)
    await Promise.race([held.begun, moving])
    const transfer = async () => (await send('GET /projects/:id/transfer', { params: { id } })).body.data
    // The other side may begin a step before the coordinator has recorded it.
    await expect.poll(async () => (await transfer()).phase).toBe(phase)
    const shown = await transfer()
    for (const [what, request] of Object.entries(requests)) {
      const { status, body } = await request(id)
      expect([what, status, body.code]).toEqual([what, 409, 'work_in_progress'])
      expect(body.error).toContain(shown.id)
      expect(JSON.stringify(body)).not.toMatch(sql)
    }
    const reading = send('GET /projects/:id', { params: { id } })
    // Between the two decisions of a move from the cloud the read waits for the second one.
    if (phase !== 'committing') expect((await reading).body.data).toMatchObject({ id, name: expect.not.stringContaining('Late') })
    held.release()
    expect((await reading).status).toBe(200)
    const { status, body } = await moving
    expect([status, body.data]).toEqual([200, { projectId: id, location: target === 'cloud' ? 'cloud' : 'local' }])
    await expect.poll(() => [scene.serves(source, slug), scene.serves(target, slug)]).toEqual([undefined, 'upstreams'])
    expect(await scene.volume(target, id)).toBe('carried')
    for (const request of Object.values(requests)) expect((await request(id)).status).toBeLessThan(300)
  },
)
