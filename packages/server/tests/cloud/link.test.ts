// gate: also on PostgreSQL, since it is what reads and writes the tables of linked clouds
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance } from '../kit/instance.ts'
import { makePeople, makeToken } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { linkTo, startTwoSides, type TwoSides } from '../kit/two-sides.ts'

let sides: TwoSides
const servers: Server[] = []
beforeAll(async () => {
  sides = await startTwoSides()
})
afterAll(async () => {
  for (const server of servers) server.close().closeAllConnections()
  await sides.stop()
})

async function listening(server: Server): Promise<string> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('an unlinked instance says so, and its home lists the local projects', async () => {
  const { here, people } = sides
  const { body } = await call(here, people.viewer.token, 'GET /cloud/link')
  expect(body.data).toEqual({
    ...{ linked: false, url: null, reachable: null, organizationId: null, linkedAt: null, tokenExpiresAt: null },
  })
  const home = await call(here, people.viewer.token, 'GET /projects/home')
  expect(home.body.cloud).toEqual({ linked: false, reachable: false })
})

test('a link is created with a token of the cloud, shown without it, and removed', async () => {
  const { here, people, cloudPeople, cloudUrl } = sides
  const made = await linkTo(here, people.owner.token, { url: `${cloudUrl}/`, token: cloudPeople.owner.token })
  expect(made.status).toBe(200)
  expect(made.body.data).toMatchObject({
    linked: true,
    url: cloudUrl,
    reachable: true,
    organizationId: cloudPeople.organizationId,
  })
  expect(JSON.stringify(made.body)).not.toContain(cloudPeople.owner.token)
  const row = await here.database.db.selectFrom('cloudLinks').selectAll().executeTakeFirstOrThrow()
  expect(row.token).not.toContain(cloudPeople.owner.token)
  expect((await call(here, people.viewer.token, 'GET /cloud/link')).body.data).toMatchObject({ linked: true, reachable: true })
  expect((await call(here, people.admin.token, 'DELETE /cloud/link')).status).toBe(204)
  expect((await call(here, people.viewer.token, 'GET /cloud/link')).body.data.linked).toBe(false)
})

test('linking needs cloud:admin', async () => {
  const { here, people, cloudPeople, cloudUrl } = sides
  const { status, body } = await linkTo(here, people.member.token, { url: cloudUrl, token: cloudPeople.owner.token })
  expect({ status, body }).toMatchObject({ status: 403, body: { permission: 'cloud:admin' } })
})

test('the errors name an unknown token, an instance that is not a cloud, and an invalid address', async () => {
  const { here, people, cloudPeople, cloudUrl, hereUrl } = sides
  const refused = (body: object) => linkTo(here, people.owner.token, { url: cloudUrl, token: cloudPeople.owner.token, ...body })
  expect(await refused({ token: 'brt_unknown' })).toMatchObject({ status: 400, body: { field: 'token' } })
  expect(await refused({ url: hereUrl })).toMatchObject({ status: 400, body: { field: 'url' } })
  expect(await refused({ url: 'cloud' })).toMatchObject({ status: 400, body: { field: 'url' } })
  expect((await call(here, people.viewer.token, 'GET /cloud/link')).body.data.linked).toBe(false)
})

test('a cloud that refuses, responds invalidly or is another service is 503 cloud_unreachable, and nothing is stored', async () => {
  const { here, people } = sides
  const otherUser = await listening(createServer((_request, response) => response.end('{"data":{"mode":"cloud"}}')))
  const nonsense = await listening(createServer((request) => request.socket.end('nonsense\r\n\r\n')))
  for (const url of ['http://127.0.0.1:9', otherUser, nonsense]) {
    const { status, body } = await linkTo(here, people.owner.token, { url, token: 'brt_x' })
    expect({ url, status, code: body.code }).toEqual({ url, status: 503, code: 'cloud_unreachable' })
  }
  expect((await call(here, people.viewer.token, 'GET /cloud/link')).body.data.linked).toBe(false)
})

test('the link of a user who is not an operator never connects to this machine or its networks', async () => {
  const { here, cloudPeople, cloudUrl } = sides
  const others = await makePeople(here)
  const { status, body } = await linkTo(here, others.owner.token, { url: cloudUrl, token: cloudPeople.owner.token })
  expect({ status, code: body.code }).toEqual({ status: 503, code: 'cloud_unreachable' })
  expect(body.error).toContain('private or reserved network')
})

test('home lists local and cloud projects, and a limited token sees only its projects', async () => {
  const { here, cloud, people, cloudPeople } = sides
  await sides.link()
  const mine = await makeProject(here, people.owner.token, { name: 'Mine' })
  const theirs = await makeProject(cloud, cloudPeople.owner.token, { name: 'Theirs' })
  const home = await call(here, people.viewer.token, 'GET /projects/home')
  expect(home.body.cloud).toEqual({ linked: true, reachable: true })
  const locations = home.body.data.map(({ id, location }: { id: string; location: string }) => [id, location])
  expect(locations).toEqual(expect.arrayContaining([[mine.id, 'local'], [theirs.id, 'cloud']])) // biome-ignore format: pairs
  const limited = await makeToken(here, people.owner, { projectIds: [mine.id] })
  const seen = await call(here, limited, 'GET /projects/home')
  expect(seen.body.data.map(({ id }: { id: string }) => id)).toEqual([mine.id])
})

test('a token can be limited to projects in the linked cloud, and reaches those', async () => {
  const { here, cloud, people, cloudPeople } = sides
  await sides.link()
  const [named, other] = [await makeProject(cloud, cloudPeople.owner.token), await makeProject(cloud, cloudPeople.owner.token)]
  const create = (projectIds: string[]) => call(here, people.owner.token, 'POST /tokens', { body: { name: 'ci', projectIds } })
  const { status, body } = await create([named.id])
  expect([status, body.data.projectIds]).toEqual([201, [named.id]])
  const read = (id: string) => call(here, body.data.token, 'GET /projects/:id', { params: { id } })
  expect([(await read(named.id)).status, (await read(other.id)).status]).toEqual([200, 404])
  expect(await create([named.id, 'prj_nowhere'])).toMatchObject({ status: 400, body: { field: 'projectIds' } })
})

test('the link routes do not exist on a cloud instance: 404', async () => {
  const cloud = await startInstance({ BERTH_MODE: 'cloud' })
  try {
    for (const at of ['GET /cloud/link', 'PUT /cloud/link', 'DELETE /cloud/link'] as const)
      expect((await call(cloud, null, at)).status).toBe(404)
  } finally {
    await cloud.stop()
  }
})

test('the owner of a link is warned before its token expires', async () => {
  const { here, people, cloud, cloudPeople } = sides
  const token = await makeToken(cloud, cloudPeople.owner, { expiresAt: Date.now() + 5 * 86_400_000 })
  await sides.link(token)
  const [row] = await here.database.db.selectFrom('cloudLinks').selectAll().execute()
  expect(row?.tokenExpiresAt).toBeGreaterThan(Date.now())
  const { body } = await call(here, people.viewer.token, 'GET /cloud/link')
  expect(Date.parse(body.data.tokenExpiresAt)).toBe(row?.tokenExpiresAt)
})
