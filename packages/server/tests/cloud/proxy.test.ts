import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AnyRoute, type Method, type ObjectKind, projectScoped, table } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sealedFor } from '../../src/platform/db/sealed-columns.ts'
import { type CallInput, call } from '../kit/call.ts'
import { readEvents } from '../kit/event-reader.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { startTwoSides, type TwoSides } from '../kit/two-sides.ts'
import { makeWorld, type World } from '../kit/world.ts'

type At = `${Method} /${string}`
const places = table
  .filter(({ row }) => row.on && projectScoped.has(row.on) && !row.here)
  .flatMap(({ row }) => [row.at, ...(row.alsoAt ?? [])].map((at) => ({ at: at as At, row })))
const calls = places.filter(({ row }) => !row.stream && !row.upload)
const streams = places.filter(({ row }) => row.stream)

let sides: TwoSides
let world: World
const servers: Server[] = []
beforeAll(async () => {
  sides = await startTwoSides()
  await sides.link()
  world = await cloudWorld()
})
afterAll(async () => {
  for (const server of servers) server.close().closeAllConnections()
  await sides.stop()
})

/** Rules of the edge belong to a machine, and a cloud's is not the customer's. */
const cloudWorld = () => makeWorld(sides.cloud, sides.cloudPeople, [...ofNoProject, 'routeRule'])
const ofNoProject: ObjectKind[] = ['channel', 'subscription', 'delivery', 'token', 'invitation', 'server']

let hosts = 0
/** An organisation connects a host name once. */
function inputFor(there: World, row: AnyRoute): CallInput {
  const input = there.inputFor(row)
  if (row.path !== '/projects/:id/connect') return input
  hosts += 1
  return { ...input, body: { domain: `shop-${hosts}.example.test` } }
}

/** What two calls of the same thing may differ in: times, tokens and ids that are made at the call. */
const plain = (body: unknown) =>
  JSON.stringify(body ?? null)
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
    .replace(/\b([a-z]{3})_[a-z2-7]{20}/g, '$1_id')
    .replace(/berth-verify=[\w-]+/g, 'berth-verify=code')
    .replace(/"(token|url|authorization|value)":"[^"]*"/g, '"$1":"…"')

describe('a project that lives in the cloud is asked for there', () => {
  test.each(calls)('$at gives the body of the cloud itself', async ({ at, row }) => {
    const { here, cloud, people, cloudPeople } = sides
    const there = await cloudWorld()
    const direct = await call(cloud, cloudPeople.owner.token, at, inputFor(there, row))
    const again = await cloudWorld()
    const passed = await call(here, people.owner.token, at, inputFor(again, row))
    const said = ({ body }: typeof direct) => plain(body).replace(/shop(-\w+)?/g, 'shop')
    expect(said(passed)).toBe(said(direct))
    expect(passed.status).toBe(direct.status)
  })

  test.each(streams)('$at streams as the cloud does', async ({ row }) => {
    const { hereUrl, cloudUrl, people, cloudPeople } = sides
    const id = world.ids[row.on as 'project'] as string
    const path = `/api${row.path.replace(/:\w+/, id)}`
    const reading = async (url: string, token: string) => {
      const reader = await readEvents(`${url}${path}`, { authorization: `Bearer ${token}` })
      const first = Object.keys(row.stream ?? {}).includes('snapshot')
      if (first && reader.status === 200) await expect.poll(() => reader.events.length).toBeGreaterThan(0)
      reader.close()
      return { status: reader.status, first: reader.events[0]?.event }
    }
    expect(await reading(hereUrl, people.viewer.token)).toEqual(await reading(cloudUrl, cloudPeople.viewer.token))
  })

  test('a body too large, unknown fields and wrong JSON get the answer of the cloud', async () => {
    const { here, people } = sides
    const on = (body: unknown) =>
      call(here, people.owner.token, 'PATCH /projects/:id', { params: { id: world.ids.project as string }, body })
    expect(await on({ name: '' })).toMatchObject({ status: 400, body: { code: 'validation_failed', field: 'name' } })
    expect(await on('{')).toMatchObject({ status: 400, body: { code: 'invalid_json' } })
    expect(await on({ name: 'x'.repeat(2 ** 21) })).toMatchObject({ status: 413, body: { code: 'payload_too_large' } })
  })

  test('what is here is answered here, and what is nowhere is 404', async () => {
    const { here, people } = sides
    const { id } = await makeProject(here, people.owner.token)
    expect((await call(here, people.owner.token, 'GET /projects/:id', { params: { id } })).body.data.location).toBe('local')
    const nobody = { params: { id: 'prj_aaaaaaaaaaaaaaaaaaaa' } }
    expect(await call(here, people.owner.token, 'GET /projects/:id', nobody)).toMatchObject({ status: 404 })
  })

  test('the audit log records it here too', async () => {
    const { here, people } = sides
    const params = { id: world.ids.project as string }
    await call(here, people.owner.token, 'POST /projects/:id/auto-deploy', { params, body: { enabled: true } })
    const { body } = await call(here, people.owner.token, 'GET /audit-log')
    expect(body.data).toContainEqual(
      expect.objectContaining({ action: 'POST /projects/:id/auto-deploy', objectId: params.id, userId: people.owner.userId }),
    )
  })
})

describe('nobody reaches through the link what they may not', () => {
  test('the caller’s own role decides before the cloud is asked', async () => {
    const { here, people } = sides
    const params = { id: world.ids.project as string }
    const ask = (token: string, at: At, body?: object) => call(here, token, at, { params, ...(body ? { body } : {}) })
    expect(await ask(people.viewer.token, 'POST /projects/:id/enable')).toMatchObject({
      status: 403,
      body: { permission: 'project:write' },
    })
    expect(await ask(people.member.token, 'DELETE /projects/:id')).toMatchObject({ status: 403 })
    const scoped = await makeToken(here, people.owner, { scopes: ['project:read'] })
    expect(await ask(scoped, 'POST /projects/:id/enable')).toMatchObject({ status: 403 })
  })

  test('a grant on a project here opens nothing in the cloud', async () => {
    const { here, people } = sides
    const { id } = await makeProject(here, people.owner.token)
    const grant = { params: { id }, body: { userId: people.viewer.userId, level: 'admin' } }
    expect((await call(here, people.owner.token, 'PUT /projects/:id/grants', grant)).status).toBe(200)
    const params = { id: world.ids.project as string }
    expect((await call(here, people.viewer.token, 'POST /projects/:id/enable', { params })).status).toBe(403)
  })

  test('a token limited to projects reaches the cloud’s only where it names them', async () => {
    const { here, people } = sides
    const id = world.ids.project as string
    const other = await makeToken(here, people.owner, { projectIds: ['prj_aaaaaaaaaaaaaaaaaaaa'] })
    expect((await call(here, other, 'GET /projects/:id', { params: { id } })).status).toBe(404)
    const own = await makeToken(here, people.owner, { projectIds: [id] })
    expect((await call(here, own, 'GET /projects/:id', { params: { id } })).status).toBe(200)
    const deployment = { params: { id: world.ids.deployment as string } }
    expect((await call(here, own, 'GET /deployments/:id', deployment)).status).toBe(404)
  })

  test('another organisation of this instance has no link', async () => {
    const { here } = sides
    const others = await makePeople(here)
    const params = { id: world.ids.project as string }
    expect((await call(here, others.owner.token, 'GET /projects/:id', { params })).status).toBe(404)
  })

  test('neither credential, cookie nor organisation crosses over, and no cookie comes back', async () => {
    const { here } = sides
    const heard: Record<string, unknown>[] = []
    const url = await fakeCloud((request, response) => {
      heard.push(request.headers)
      response.setHeader('x-request-id', 'req_1').setHeader('set-cookie', 'a=b').setHeader('content-type', 'application/json')
      if (request.url === '/api/health') return response.end('{"data":{"mode":"cloud"}}')
      response.end('{"data":{"organization":{"id":"org_x"},"expiresAt":null}}')
    })
    const mine = await makePeople(here)
    await linkBy(mine, url)
    const headers = { cookie: 'session=secret', 'x-organization-id': mine.organizationId, 'x-forwarded-for': '1.2.3.4' }
    const path = { params: { id: 'prj_aaaaaaaaaaaaaaaaaaaa' }, headers, query: { token: 'mine' } }
    const answer = await call(here, mine.owner.token, 'GET /projects/:id', path)
    expect(answer.status).toBe(200)
    expect(answer.headers['set-cookie']).toBeUndefined()
    const [sent] = heard as [Record<string, string>]
    expect(Object.keys(sent).sort()).toEqual(['authorization', 'berth-forwarded', 'connection', 'host', 'user-agent'])
    expect(sent.authorization).not.toContain(mine.owner.token)
  })

  test('what was passed on once is not passed on again', async () => {
    const { here, people } = sides
    const input = { params: { id: world.ids.project as string }, headers: { 'berth-forwarded': 'x' } }
    expect((await call(here, people.owner.token, 'GET /projects/:id', input)).status).toBe(404)
  })

  test('a stream of the cloud ends when the reader’s access here ends', async () => {
    const { here, hereUrl, people } = sides
    const { body } = await call(here, people.owner.token, 'POST /tokens', { body: { name: 'reader' } })
    const path = `/api/projects/${world.ids.project}/logs/stream`
    const reader = await readEvents(`${hereUrl}${path}`, { authorization: `Bearer ${body.data.token}` })
    expect(reader.status).toBe(200)
    await call(here, people.owner.token, 'DELETE /tokens/:id', { params: { id: body.data.id } })
    await reader.ended
    expect(reader.events.at(-1)).toMatchObject({ event: 'closed', data: { code: 'unauthorized' } })
  })
})

describe('a cloud that is away', () => {
  const answers: Record<
    string,
    (request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => unknown
  > = {
    hangs: () => {},
    'answers nonsense': ({ socket }) => socket.end('HTTP/9 what\r\n\r\n'),
    'is somebody else': (_request, response) =>
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>'),
    'hangs up': ({ socket }) => socket.destroy(),
  }
  test.each(Object.keys(answers))(
    'that %s is 503 cloud_unreachable; home answers, local projects are unaffected',
    async (name) => {
      const { here } = sides
      const mine = await makePeople(here)
      const local = await makeProject(here, mine.owner.token)
      const url = await fakeCloud(answers[name] as never)
      await linkBy(mine, url)
      const asked = call(here, mine.owner.token, 'GET /projects/:id', { params: { id: 'prj_aaaaaaaaaaaaaaaaaaaa' } })
      const home = call(here, mine.owner.token, 'GET /projects/home')
      expect((await call(here, mine.owner.token, 'GET /projects/:id', { params: { id: local.id } })).status).toBe(200)
      expect(await asked).toMatchObject({ status: 503, body: { code: 'cloud_unreachable' } })
      expect((await home).body).toMatchObject({ cloud: { linked: true, reachable: false }, data: [{ id: local.id }] })
    },
  )
})

async function fakeCloud(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer as never)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A link as it is stored, to an address that no route would have taken. */
async function linkBy({ organizationId, owner }: People, url: string): Promise<void> {
  const { database, secretBox } = sides.here
  const row = {
    ...{
      organizationId,
      url,
      tokenLastFour: 'link',
      remoteOrganizationId: 'org_x',
      tokenExpiresAt: null,
      mayBeInside: 1 as const,
    },
    token: secretBox.seal('brt_link', sealedFor.cloudToken(organizationId)),
    linkedBy: owner.userId,
    linkedAt: Date.now(),
  }
  await database.db.insertInto('cloudLinks').values(row).execute()
  database.signals.publish('cloud-links', { organizationId })
}
