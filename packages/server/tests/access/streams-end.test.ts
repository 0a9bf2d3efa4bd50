// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { type AnyRoute, table } from '@berth/contract'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { hashToken } from '../../src/platform/secrets/token.ts'
import { testDatabaseKind } from '../../src/platform/test-database.ts'
import { makeRestore, makeRun } from '../kit/backups.ts'
import { call } from '../kit/call.ts'
import { type EventReader, readEvents } from '../kit/event-reader.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People, type Person, password } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

/** No stream outlives its reader's access: every route that streams, every way in which access ends. */

/** Longer than any test: a signal must end the stream, not the next periodic check. */
const never = 1_000_000
let instance: TestInstance
let url: string
let people: People
let params: Record<string, string>
const readers: EventReader[] = []

async function begin(streamCheckMs: number) {
  instance = await startInstance({}, { streamCheckMs })
  url = await instance.app.listen({ host: '127.0.0.1', port: 0 })
  people = await makePeople(instance)
  const project = await makeProject(instance, people.owner.token)
  const { deploymentId } = await deploymentOf(project.id)
  const underWay = { people, projectId: project.id, finishedAt: null }
  const { id: backupRun } = await makeRun(instance, { ...underWay, status: 'queued' })
  const { id: backupRestore } = await makeRestore(instance, { ...underWay, runId: backupRun, status: 'staged' })
  params = { project: project.id, deployment: deploymentId, backupRun, backupRestore }
}
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close()
})
const end = () => instance.stop()

/** No job runs here: the deployment stays queued, and its stream open. */
async function deploymentOf(projectId: string) {
  const { db } = instance.database
  const deploymentId = 'dep_00000000000000000000'
  const row = { id: deploymentId, projectId, environment: 'production', number: 1, trigger: 'manual', status: 'queued' } as const
  const empty = { source: '{"kind":"image"}', config: '{}', steps: '[]', force: 0, createdAt: Date.now() } as const
  await db
    .insertInto('deployments')
    .values({ ...row, ...empty })
    .execute()
  return { deploymentId }
}

const pathOf = ({ path, on }: AnyRoute) => `/api${path.replace(/:\w+/, (on && params[on]) ?? 'missing')}`

async function open(row: AnyRoute, headers: Record<string, string>, query = ''): Promise<EventReader> {
  const reader = await readEvents(`${url}${pathOf(row)}${query}`, headers)
  readers.push(reader)
  expect([row.at, reader.status]).toEqual([row.at, 200])
  return reader
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function signIn({ email }: Person): Promise<{ cookie: string }> {
  const { headers } = await call(instance, null, 'POST /auth/login', { body: { email, password } })
  return { cookie: String(headers['set-cookie']).split(';')[0] as string }
}

const tokenId = async (token: string) =>
  (
    await instance.database.db
      .selectFrom('tokens')
      .select('id')
      .where('secretHash', '=', hashToken(token))
      .executeTakeFirstOrThrow()
  ).id

async function expectEnd(reader: EventReader, code: string) {
  await reader.ended
  expect(reader.events.at(-1)).toMatchObject({ event: 'closed', data: { code, error: expect.any(String) } })
}

/** Streams that only read; running a program inside a project has its own test (`deployments/exec.test.ts`). */
const streamRows = table.filter(({ row }) => row.stream && row.method === 'GET')
const notBuilt = new Set<string>()
const rows = streamRows.filter(({ module, name }) => !notBuilt.has(`${module}.${name}`)).map(({ row }) => ({ at: row.at, row }))

test('the list of streams is complete: a module without tests here has no handler for its streams', async () => {
  await begin(never)
  for (const { module, name } of streamRows)
    expect([module, name, instance.builtRows.has(`${module}.${name}`)]).toEqual([
      module,
      name,
      !notBuilt.has(`${module}.${name}`),
    ])
  await end()
})

describe.each(rows)('$at ends at once', ({ row }) => {
  beforeAll(() => begin(never))
  afterAll(end)

  test('when its token is revoked, and only then', async () => {
    const [revoked, other] = [await makeToken(instance, people.member), await makeToken(instance, people.member)]
    const [ends, stays] = [await open(row, bearer(revoked)), await open(row, bearer(other))]
    await call(instance, people.member.token, 'DELETE /tokens/:id', { params: { id: await tokenId(revoked) } })
    await expectEnd(ends, 'unauthorized')
    await call(instance, people.member.token, 'DELETE /tokens/:id', { params: { id: await tokenId(other) } })
    await expectEnd(stays, 'unauthorized')
  })

  test('when the token that made its token is revoked', async () => {
    const make = async (token: string) => (await call(instance, token, 'POST /tokens', { body: { name: 'x' } })).body.data
    const parent = await make(people.member.token)
    const grandchild = await make((await make(parent.token)).token)
    const reader = await open(row, bearer(grandchild.token))
    await call(instance, people.member.token, 'DELETE /tokens/:id', { params: { id: parent.id } })
    await expectEnd(reader, 'unauthorized')
  })

  test('when its reader is removed from the organisation', async () => {
    const reader = await open(row, bearer(people.viewer.token))
    await call(instance, people.owner.token, 'DELETE /members/:userId', { params: { userId: people.viewer.userId } })
    await expectEnd(reader, 'unauthorized')
  })

  test('when the session signs out', async () => {
    const cookie = await signIn(people.admin)
    const reader = await open(row, cookie)
    const { status } = await call(instance, null, 'POST /auth/logout', { headers: { ...cookie, origin: 'http://localhost:80' } })
    expect(status).toBe(204)
    await expectEnd(reader, 'unauthorized')
  })

  test.runIf(row.streamToken)('when the credential that created its stream token is revoked', async () => {
    const token = await makeToken(instance, people.member)
    const path = pathOf(row)
    const minted = await instance.access.streamTokens.mint(path, await callerOf(token))
    const unused = await instance.access.streamTokens.mint(path, await callerOf(token))
    const reader = await open(row, {}, `?token=${minted.token}`)
    await call(instance, people.member.token, 'DELETE /tokens/:id', { params: { id: await tokenId(token) } })
    await expectEnd(reader, 'unauthorized')
    expect((await readEvents(`${url}${path}?token=${unused.token}`)).status).toBe(401)
  })

  test('when access ends on another control plane', async (context) => {
    if (testDatabaseKind() === 'sqlite') return context.skip('one process owns a SQLite folder')
    const elsewhere = await (instance.database as never as { openAgain(): Promise<TestInstance['database']> }).openAgain()
    const other = await startInstance({}, { database: elsewhere, streamCheckMs: never })
    const token = await makeToken(instance, people.member)
    const reader = await open(row, bearer(token))
    await call(other, people.member.token, 'DELETE /tokens/:id', { params: { id: await tokenId(token) } })
    await expectEnd(reader, 'unauthorized')
    await other.stop()
    await elsewhere.close()
  })

  test.runIf(row.on)('when its project is deleted', async () => {
    const reader = await open(row, bearer(people.owner.token))
    const { status } = await call(instance, people.owner.token, 'DELETE /projects/:id', {
      params: { id: params.project as string },
      query: { force: true },
    })
    expect(status).toBe(200)
    // The streamed work may end before the check, and then ends the stream itself.
    await reader.ended
  })
})

const callerOf = async (token: string) => {
  const caller = await instance.access.authenticator.authenticate({ headers: bearer(token) } as never)
  if (!caller) throw new Error('the token is invalid')
  return caller
}

describe.each(rows)('$at ends at the next check', ({ row }) => {
  beforeAll(() => begin(50))
  afterAll(end)

  test('when its token has expired, which sends no signal; a valid stream continues', async () => {
    const token = await makeToken(instance, people.member, { expiresAt: Date.now() + 3_600_000 })
    const [reader, stays] = [await open(row, bearer(token)), await open(row, bearer(people.viewer.token))]
    await instance.database.db
      .updateTable('tokens')
      .set({ expiresAt: 1 })
      .where('id', '=', await tokenId(token))
      .execute()
    await expectEnd(reader, 'unauthorized')
    expect(stays.events.some(({ event }) => event === 'closed')).toBe(false)
  })

  test('when its scope was revoked', async () => {
    const token = await makeToken(instance, people.member, { scopes: [row.permission as string] })
    const reader = await open(row, bearer(token))
    await instance.database.db
      .updateTable('tokens')
      .set({ scopes: '["audit:list"]' })
      .where('id', '=', await tokenId(token))
      .execute()
    await expectEnd(reader, 'forbidden')
  })
})
