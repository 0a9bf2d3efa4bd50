// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Method } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { readEvents } from '../kit/event-reader.ts'
import { FakeClouds, linkBy } from '../kit/fake-cloud.ts'
import { makePeople, makeToken } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { linkTo, startTwoSides, type TwoSides } from '../kit/two-sides.ts'

type At = `${Method} /${string}`

let sides: TwoSides
let id: string
const clouds = new FakeClouds()
beforeAll(async () => {
  sides = await startTwoSides()
  await sides.link()
  id = (await makeProject(sides.cloud, sides.cloudPeople.owner.token)).id
})
afterAll(async () => {
  await clouds.close()
  await sides.stop()
})

const ask = (token: string, at: At, body?: object) => call(sides.here, token, at, { params: { id }, ...(body ? { body } : {}) })

/** A cloud that accepts and records every request, linked to its own organisation. */
async function listening(answer: object = { data: { id: 'x' } }, headers: Record<string, string> = {}) {
  const heard: IncomingMessage[] = []
  const url = await clouds.answering((request, response) => {
    heard.push(request)
    request.resume().on('end', () => {
      response.writeHead(200, { 'x-request-id': 'req_1', 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(answer))
    })
  })
  const mine = await makePeople(sides.here)
  await linkBy(sides.here, mine, url)
  return { heard, mine }
}

describe('callers get no additional rights through the link', () => {
  test('the local role of the caller is checked before the cloud is called', async () => {
    const { here, people } = sides
    expect(await ask(people.viewer.token, 'POST /projects/:id/enable')).toMatchObject({
      status: 403,
      body: { permission: 'project:write' },
    })
    expect(await ask(people.member.token, 'DELETE /projects/:id')).toMatchObject({ status: 403 })
    const scoped = await makeToken(here, people.owner, { scopes: ['project:read'] })
    expect(await ask(scoped, 'POST /projects/:id/enable')).toMatchObject({ status: 403 })
  })

  test('a grant on a local project gives no access in the cloud', async () => {
    const { here, people } = sides
    const local = await makeProject(here, people.owner.token)
    const grant = { params: { id: local.id }, body: { userId: people.viewer.userId, level: 'admin' } }
    expect((await call(here, people.owner.token, 'PUT /projects/:id/grants', grant)).status).toBe(200)
    expect((await ask(people.viewer.token, 'POST /projects/:id/enable')).status).toBe(403)
  })

  test('a token limited to projects reaches only the cloud projects that it names', async () => {
    const { here, people } = sides
    const other = await makeToken(here, people.owner, { projectIds: ['prj_aaaaaaaaaaaaaaaaaaaa'] })
    expect((await ask(other, 'GET /projects/:id')).status).toBe(404)
    const own = await makeToken(here, people.owner, { projectIds: [id] })
    expect((await ask(own, 'GET /projects/:id')).status).toBe(200)
    const deployment = { params: { id: 'dep_aaaaaaaaaaaaaaaaaaaa' } }
    expect((await call(here, own, 'GET /deployments/:id', deployment)).status).toBe(404)
    expect((await call(here, own, 'POST /projects/ensure', { body: { name: 'New' } })).status).toBe(403)
  })

  test('a token limited to projects cannot use objects of other projects in them', async () => {
    const { here, people } = sides
    const own = await makeToken(here, people.owner, { projectIds: [id] })
    expect((await ask(own, 'PATCH /projects/:id', { name: 'Shop' })).status).toBe(200)
    expect(await ask(own, 'PATCH /projects/:id', { serverId: 'srv_aaaaaaaaaaaaaaaaaaaa' })).toMatchObject({
      status: 403,
      body: { field: 'serverId' },
    })
    const policy = { params: { projectId: id }, body: { destinationId: 'bkd_aaaaaaaaaaaaaaaaaaaa' } }
    expect(await call(here, own, 'POST /projects/:projectId/backup-policies', policy)).toMatchObject({
      status: 403,
      body: { field: 'destinationId' },
    })
  })

  test("a link with the token of an operator gives no access to folders of the cloud's machine", async () => {
    const { status, body } = await ask(sides.people.member.token, 'PATCH /projects/:id', { localPath: '/etc' })
    expect({ status, field: body.field }).toEqual({ status: 400, field: 'localPath' })
  })

  test('another organisation of this instance has no link', async () => {
    const others = await makePeople(sides.here)
    expect((await ask(others.owner.token, 'GET /projects/:id')).status).toBe(404)
  })
})

describe('data that crosses the link', () => {
  test('no credential, cookie, organisation or stream token is sent, and no cookie or header of the cloud is returned', async () => {
    const { heard, mine } = await listening({ data: {} }, { 'set-cookie': 'a=b', 'service-worker-allowed': '/', refresh: '0' })
    const headers = {
      ...{ cookie: 'session=secret', 'x-organization-id': mine.organizationId, 'x-forwarded-for': '1.2.3.4' },
      ...{ te: 'trailers', 'proxy-authorization': 'Basic x', forwarded: 'for=1.2.3.4', 'x-http-method-override': 'DELETE' },
    }
    const url = `/api/projects/${id}?q=1&token=mine&%74oken=mine&x=%2e`
    const answer = await sides.here.app.inject({ url, headers: { ...headers, authorization: `Bearer ${mine.owner.token}` } })
    expect(answer.statusCode).toBe(200)
    expect(Object.keys(answer.headers).sort()).toEqual(
      ['connection', 'content-length', 'content-type', 'date', 'x-request-id'].filter((name) => name in answer.headers),
    )
    const [sent] = heard as [IncomingMessage]
    expect(Object.keys(sent.headers).sort()).toEqual(['authorization', 'berth-forwarded', 'connection', 'host', 'user-agent'])
    expect(sent.headers.authorization).toBe('Bearer brt_link')
    expect(sent.url).toBe(`/api/projects/${id}?q=1&x=%2e`)
  })

  test('an id that URL normalisation would turn into another path is not forwarded', async () => {
    const { heard, mine } = await listening()
    const send = (method: 'GET' | 'DELETE', path: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { authorization: `Bearer ${mine.owner.token}` }
        const { hostname, port } = new URL(sides.hereUrl)
        httpRequest({ method, hostname, port, path: `/api${path}`, headers }, (answer) => resolve(answer.resume().statusCode))
          .on('error', reject)
          .end()
      })
    for (const name of [
      '..',
      '%2e%2e',
      '..%2ftokens',
      '%2e%2e%2ftokens',
      'a%3fb',
      'a%23b',
      'a;b',
      '.',
      'a%5cb',
      'a%252e',
      'a%0d%0ab',
    ])
      for (const [method, path] of [
        ['GET', `/projects/${name}`],
        ['GET', `/projects/${name}/env`],
        ['GET', `/deployments/${name}`],
        ['DELETE', `/projects/${id}/domains/${name}`],
        ['DELETE', `/projects/${id}/domains/www.${name}`],
      ] as const)
        expect([path, await send(method, path)]).toEqual([path, 404])
    expect(heard).toEqual([])
    await send('DELETE', `/projects/${id}/domains/www.example.test`)
    expect(heard.map(({ url }) => url)).toEqual([`/api/projects/${id}/domains/www.example.test`])
  })

  test('a smuggled request stays part of one request', async () => {
    const { heard, mine } = await listening()
    const { hostname, port } = new URL(sides.hereUrl)
    const inner = `DELETE /api/projects/${id} HTTP/1.1\r\nhost: x\r\n\r\n`
    const head = `PATCH /api/projects/${id}/env HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${mine.owner.token}\r\ncontent-type: application/json\r\n`
    const chunked = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`
    const bodies = [
      `content-length: ${inner.length}\r\nconnection: close\r\n\r\n${inner}`,
      `transfer-encoding: chunked\r\nconnection: close\r\n\r\n${chunked}`,
      `transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n${chunked}`,
      `content-length: 5\r\ncontent-length: 6\r\n\r\n${inner}`,
      `transfer-encoding: xchunked\r\n\r\n${chunked}`,
      `transfer-encoding: chunked\r\n\r\nzz\r\n${inner}\r\n0\r\n\r\n`,
    ]
    for (const body of bodies) {
      const socket = connect(Number(port), hostname).on('error', () => {})
      socket.write(head + body)
      socket.resume().setTimeout(3_000, () => socket.destroy())
      await once(socket, 'close')
    }
    expect(heard.map(({ method }) => method).filter((method) => method !== 'PATCH')).toEqual([])
    expect(heard.length).toBeGreaterThanOrEqual(2)
  })

  test('a forwarded request is not forwarded again', async () => {
    const input = { params: { id }, headers: { 'berth-forwarded': 'x' } }
    expect((await call(sides.here, sides.people.owner.token, 'GET /projects/:id', input)).status).toBe(404)
  })

  test('a link that leads back to this instance is followed once', async () => {
    const mine = await makePeople(sides.here)
    await linkBy(sides.here, mine, sides.hereUrl)
    const { status, body } = await call(sides.here, mine.owner.token, 'GET /projects/:id', { params: { id } })
    expect({ status, code: body.code }).toEqual({ status: 503, code: 'cloud_unreachable' })
  })

  test('a stream token of the cloud opens no local stream', async () => {
    const mine = await makePeople(sides.here)
    const local = await makeProject(sides.here, mine.owner.token)
    const url = `/api/projects/${local.id}/server-logs/stream`
    const token = 'a-token-that-the-cloud-knows'
    const cloud = await clouds.answering((_request, response) => {
      response.writeHead(200, { 'x-request-id': 'req_1', 'content-type': 'application/json' })
      response.end(JSON.stringify({ data: { token, url, expiresAt: new Date().toISOString() } }))
    })
    await linkBy(sides.here, mine, cloud)
    const at = 'GET /projects/:id/server-logs/stream-token' as const
    expect((await call(sides.here, mine.viewer.token, at, { params: { id } })).status).toBe(200)
    const reader = await readEvents(`${sides.hereUrl}${url}?token=${token}`)
    expect(reader.status).toBe(401)
  })
})

describe('an id that exists on both sides', () => {
  test('is the local object, with everything that belongs to it', async () => {
    const { here, people } = sides
    const { db } = here.database
    const local = await makeProject(here, people.owner.token, { name: 'Mine' })
    const row = await db.selectFrom('projects').selectAll().where('id', '=', local.id).executeTakeFirstOrThrow()
    await db
      .insertInto('projects')
      .values({ ...row, id, slug: 'on-both-sides' })
      .execute()
    expect((await ask(people.owner.token, 'GET /projects/:id')).body.data).toMatchObject({ name: 'Mine', location: 'local' })
    const preview = { params: { id, environment: 'production' } }
    const gone = await call(here, people.owner.token, 'DELETE /projects/:id/environments/:environment', preview)
    expect([gone.status, (await ask(people.owner.token, 'GET /projects/:id/environments')).body.data]).toEqual([400, []])
    await db.deleteFrom('projects').where('id', '=', id).execute()
  })
})

describe('a link that changes', () => {
  test('a stream of the cloud ends when the local access of the reader ends', async () => {
    const { here, hereUrl, people } = sides
    const { body } = await call(here, people.owner.token, 'POST /tokens', { body: { name: 'reader' } })
    const headers = { authorization: `Bearer ${body.data.token}` }
    const reader = await readEvents(`${hereUrl}/api/projects/${id}/logs/stream`, headers)
    expect(reader.status).toBe(200)
    await call(here, people.owner.token, 'DELETE /tokens/:id', { params: { id: body.data.id } })
    await reader.ended
    expect(reader.events.at(-1)).toMatchObject({ event: 'closed', data: { code: 'unauthorized' } })
  })

  test('to another account: requests to the first account end, and it is no longer reached', async () => {
    const { here, hereUrl, people, cloud, cloudUrl } = sides
    const another = await makePeople(cloud)
    const reader = await readEvents(`${hereUrl}/api/projects/${id}/logs/stream`, {
      authorization: `Bearer ${people.owner.token}`,
    })
    expect(reader.status).toBe(200)
    expect((await linkTo(here, people.owner.token, { url: cloudUrl, token: another.owner.token })).status).toBe(200)
    await reader.ended
    expect(reader.events.at(-1)).toMatchObject({ event: 'closed', data: { code: 'not_found' } })
    expect((await ask(people.owner.token, 'GET /projects/:id')).status).toBe(404)
    await sides.link()
    expect((await ask(people.owner.token, 'GET /projects/:id')).status).toBe(200)
  })
})
