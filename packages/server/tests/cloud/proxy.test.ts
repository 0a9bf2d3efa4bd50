import { type AnyRoute, type Method, type ObjectKind, projectScoped, table } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { type CallInput, call } from '../kit/call.ts'
import { readEvents } from '../kit/event-reader.ts'
import type { TestInstance } from '../kit/instance.ts'
import { makeProject } from '../kit/projects.ts'
import { startTwoSides, type TwoSides } from '../kit/two-sides.ts'
import { makeWorld, type World } from '../kit/world.ts'

/** Every row on a project and on its objects: a new row is included automatically. */
type At = `${Method} /${string}`
const paths = table
  .filter(({ row }) => row.on && projectScoped.has(row.on) && !row.here && !row.inCloud)
  .flatMap(({ row }) => [row.at, ...(row.alsoAt ?? [])].map((at) => ({ at: at as At, row })))
const isRead = ({ row }: (typeof paths)[number]) => row.method === 'GET' && !row.mints
/** A write that streams has an ordinary response while no part of the project is live. */
const streams = paths.filter(({ row }) => row.stream && row.method === 'GET')
const calls = paths.filter((location) => !streams.includes(location))

let sides: TwoSides
let world: World
beforeAll(async () => {
  sides = await startTwoSides()
  await sides.link()
  world = await cloudWorld()
})
afterAll(() => sides.stop())

/** Edge rules belong to a machine, and the cloud's machine does not belong to the customer. */
const cloudWorld = () => makeWorld(sides.cloud, sides.cloudPeople, [...ofNoProject, 'routeRule'])
const ofNoProject: ObjectKind[] = ['channel', 'subscription', 'delivery', 'token', 'invitation', 'server']

let hosts = 0
/** A row's input in a new world, and the names of that world: an organisation can connect a host name only once. */
async function callInto(row: AnyRoute): Promise<{ input: CallInput; names: Record<string, string> }> {
  const there = await cloudWorld()
  const { slug } = (await there.stored('project')) as { slug: string }
  hosts += 1
  const domain = `host-${hosts}.example.test`
  const input = there.inputFor(row)
  const isConnect = row.path === '/projects/:id/connect'
  return {
    input: isConnect ? { ...input, body: { domain } } : input,
    names: { [domain]: 'domain', [there.ids.domain as string]: 'connected', [slug]: 'slug' },
  }
}

/** The response with its bytes, without headers about the request and the connection. */
async function rawCall({ app }: TestInstance, token: string, at: At, { params = {}, body, headers = {} }: CallInput) {
  const [method, path] = at.split(' ') as [Method, string]
  const answer = await app.inject({
    method,
    url: `/api${path.replace(/:(\w+)/g, (_, name: string) => params[name] as string)}`,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const { 'x-request-id': _, date: __, connection: ___, 'transfer-encoding': ____, ...rest } = answer.headers
  return { status: answer.statusCode, headers: rest, bytes: answer.rawPayload.toString('latin1') }
}
type Raw = Awaited<ReturnType<typeof rawCall>>

const direct = (at: At, input: CallInput) => rawCall(sides.cloud, sides.cloudPeople.owner.token, at, input)
const through = (at: At, input: CallInput) => rawCall(sides.here, sides.people.owner.token, at, input)

/** Differences between two calls that each create an object: ids, times and codes, matched by their exact form. */
const madeAtTheCall: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'time'],
  [/\b([a-z]{3})_[a-z2-7]{20}\b/g, '$1_id'],
  [/\bdph_[a-z2-7]{40}\b/g, 'dph_token'],
  [/berth-verify=[\w-]{32,43}/g, 'berth-verify=code'],
  [/"(token|confirmationToken)":"[\w-]{32,64}"/g, '"$1":"code"'],
  [/expires=\d{13}&maxBytes=300000000&signature=[0-9a-f]{8}\.[\w-]{43}(?=")/g, 'signed'],
]

/** `names`: the slug and the host name of both worlds. */
function alike({ status, headers: { 'content-length': length, ...headers }, bytes }: Raw, names: Record<string, string>) {
  if (length !== undefined) expect(length).toBe(String(bytes.length))
  const known = Object.entries(names).reduce((text, [name, what]) => text.replaceAll(name, what), bytes)
  return { status, headers, bytes: madeAtTheCall.reduce((text, [shape, what]) => text.replace(shape, what), known) }
}

describe('a project in the cloud', () => {
  test.each(calls.filter(isRead))('$at: the same status, headers and bytes as the cloud itself', async ({ at, row }) => {
    const input = world.inputFor(row)
    const [before, passed, after] = [await direct(at, input), await through(at, input), await direct(at, input)]
    // If the clock has moved on meanwhile, it is one or the other.
    expect([before, after]).toContainEqual(passed)
  })

  test.each(calls.filter((location) => !isRead(location)))('$at: the same answer as the cloud itself', async ({ at, row }) => {
    const [one, other] = [await callInto(row), await callInto(row)]
    const [requested, passed] = [await direct(at, one.input), await through(at, other.input)]
    expect(alike(passed, other.names)).toEqual(alike(requested, one.names))
  })

  test.each(streams)('$at: the same events in the same order, without delay', async ({ row }) => {
    const input = world.inputFor(row)
    const path = `/api${row.path.replace(/:(\w+)/g, (_, name: string) => input.params?.[name] as string)}`
    const open = (url: string, token: string) => readEvents(`${url}${path}`, { authorization: `Bearer ${token}` })
    const one = await open(sides.cloudUrl, sides.cloudPeople.viewer.token)
    const other = await open(sides.hereUrl, sides.people.viewer.token)
    expect(other.status).toBe(one.status)
    const sent = one.status === 200 ? await makeHappen(row) : 0
    await expect.poll(() => [one.events.length, other.events.length]).toSatisfy(([a, b]: number[]) => a === b && a! >= sent)
    expect(other.events).toEqual(one.events)
    one.close()
    other.close()
  })

  /** Produces enough events for the stream, in several batches; returns the minimum number of events to wait for. */
  async function makeHappen({ path, stream }: AnyRoute): Promise<number> {
    if (Object.hasOwn(stream ?? {}, 'snapshot')) return 1
    const id = world.ids.project as string
    const { logStore } = sides.cloud
    const count = 200
    for (let at = 0; at < count; at += 1) {
      const time = new Date(at * 1000).toISOString()
      if (path.endsWith('/server-logs/stream')) await logStore.append(id, 'requests', [requestAt(time, at)])
      else
        await logStore.append(id, 'runtime', [{ ...{ time, stream: 'stdout', service: 'app' }, message: `line ${at}` } as never])
    }
    return count
  }
  const requestAt = (time: string, at: number) =>
    ({
      ...{ time, ip: '203.0.113.1', method: 'GET', host: 'shop.example.test', path: `/${at}`, status: 200, durationMs: 1 },
      ...{ bytesIn: 0, bytesOut: 5, userAgent: 'test', deploymentId: null },
    }) as never

  test('POST /projects/folder/upload/:sessionId: the tarball is sent to the upload address of the cloud', async () => {
    const opened = await call(sides.here, sides.people.member.token, 'POST /projects/folder/session', {
      body: { projectId: world.ids.project },
    })
    const sessionId = opened.body.data.sessionId as string
    expect(new URL(opened.body.data.upload.url).origin).toBe(sides.cloudUrl)
    const send = (payload: Buffer) =>
      fetch(`${sides.hereUrl}/api/projects/folder/upload/${sessionId}`, {
        method: 'POST',
        headers: { 'content-type': 'application/gzip', authorization: `Bearer ${sides.people.member.token}` },
        body: new Uint8Array(payload),
      })
    const refused = await send(Buffer.from('not gzip'))
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({ status: 400, body: { field: 'upload' } })
    const taken = await send(tarball({ name: 'package.json', content: '{"name":"shop"}' }))
    expect(await taken.json()).toMatchObject({ data: { sessionId, files: 1 } })
    const scanned = await call(sides.here, sides.people.member.token, 'POST /projects/folder/scan/:sessionId', {
      params: { sessionId },
    })
    expect(scanned.body.data).toMatchObject({ name: 'shop' })
  })

  test.each(['GET /projects/:id/server-logs/stream-token', 'POST /projects/:id/deployment-session'] as const)(
    '%s: the stream token of the cloud opens its stream here, once',
    async (at) => {
      const { body } = await call(sides.here, sides.people.viewer.token, at, { params: { id: world.ids.project as string } })
      const { token, url, streamUrl } = body.data
      const open = () => readEvents(`${sides.hereUrl}${url ?? streamUrl}?token=${token}`)
      const [first, second] = [await open(), await open()]
      expect([first.status, second.status]).toEqual([200, 401])
      first.close()
    },
  )

  test('a too large body, unknown fields and invalid JSON get the response of the cloud', async () => {
    const on = (body: unknown) =>
      call(sides.here, sides.people.owner.token, 'PATCH /projects/:id', { params: { id: world.ids.project as string }, body })
    expect(await on({ name: '' })).toMatchObject({ status: 400, body: { code: 'validation_failed', field: 'name' } })
    expect(await on('{')).toMatchObject({ status: 400, body: { code: 'invalid_json' } })
    expect(await on({ name: 'x'.repeat(2 ** 21) })).toMatchObject({ status: 413, body: { code: 'payload_too_large' } })
  })

  test('a response longer than the inspected part is passed on unchanged', async () => {
    const params = { id: world.ids.project as string }
    const upserts = Array.from({ length: 40 }, (_, at) => ({ key: `LONG_${at}`, value: '€'.repeat(4000), isSecret: false }))
    await call(sides.cloud, sides.cloudPeople.owner.token, 'PATCH /projects/:id/env', { params, body: { upserts } })
    const [requested, passed] = [
      await direct('GET /projects/:id/env', { params }),
      await through('GET /projects/:id/env', { params }),
    ]
    expect(passed.bytes.length).toBeGreaterThan(400_000)
    expect(passed).toEqual(requested)
  })

  test('local projects are answered locally, and unknown ones are 404', async () => {
    const { here, people } = sides
    const { id } = await makeProject(here, people.owner.token)
    expect((await call(here, people.owner.token, 'GET /projects/:id', { params: { id } })).body.data.location).toBe('local')
    const missing = { params: { id: 'prj_aaaaaaaaaaaaaaaaaaaa' } }
    expect(await call(here, people.owner.token, 'GET /projects/:id', missing)).toMatchObject({ status: 404 })
  })

  test('the local audit log records it too', async () => {
    const { here, people } = sides
    const params = { id: world.ids.project as string }
    await call(here, people.owner.token, 'POST /projects/:id/auto-deploy', { params, body: { enabled: true } })
    const { body } = await call(here, people.owner.token, 'GET /audit-log')
    expect(body.data).toContainEqual(
      expect.objectContaining({ action: 'POST /projects/:id/auto-deploy', objectId: params.id, userId: people.owner.userId }),
    )
  })
})
