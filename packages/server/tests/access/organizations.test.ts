// gate: also on PostgreSQL, since two owners demote each other at once, and two people accept one invitation
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { brokenLink } from '../../src/modules/access/audit-log.ts'
import { type Answer, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People, password } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
beforeAll(async () => {
  instance = await startInstance()
  // The first is the organisation made at set-up.
  await makePeople(instance)
})
beforeEach(async () => {
  people = await makePeople(instance)
})
afterAll(() => instance.stop())

const as = (who: keyof Omit<People, 'organizationId'>) => people[who].token

describe('organisations', () => {
  test('a user lists their organisations and reads the active one; other organisations are 404', async () => {
    const other = await makePeople(instance)
    const list = await call(instance, as('viewer'), 'GET /organizations')
    expect(list.body.data.map(({ id }: { id: string }) => id)).toEqual([people.organizationId])
    const read = (id: string) => call(instance, as('viewer'), 'GET /organizations/:id', { params: { id } })
    expect((await read(people.organizationId)).body.data.role).toBe('viewer')
    expect((await read(other.organizationId)).status).toBe(404)
  })
  test('memberRepositories: a list of owner/repo or owner/*, or null for all', async () => {
    const change = (memberRepositories: unknown) =>
      call(instance, as('admin'), 'PATCH /organizations/:id', {
        params: { id: people.organizationId },
        body: { memberRepositories },
      })
    expect((await change(['acme/*', 'acme/shop'])).body.data.memberRepositories).toEqual(['acme/*', 'acme/shop'])
    expect((await change(['not a pattern'])).body.field).toBe('memberRepositories.0')
    expect((await change(null)).body.data.memberRepositories).toBeNull()
  })
  test('only an owner deletes it', async () => {
    const remove = (who: 'admin' | 'owner') =>
      call(instance, as(who), 'DELETE /organizations/:id', { params: { id: people.organizationId } })
    expect((await remove('admin')).body.permission).toBe('organization:delete')
    expect((await remove('owner')).status).toBe(204)
  })
})

describe('deleting an organisation', () => {
  const signIn = (email: string) => call(instance, null, 'POST /auth/login', { body: { email, password } })
  const remove = () => call(instance, as('owner'), 'DELETE /organizations/:id', { params: { id: people.organizationId } })
  const invited = async (inviter: People, email: string) => {
    const { body } = await call(instance, inviter.owner.token, 'POST /invitations', { body: { email, role: 'member' } })
    return call(instance, null, 'POST /invitations/accept', { body: { code: body.data.code, email, password } })
  }
  const organizationOf = ({ status, body }: Answer) => [status, body.data?.organization.id]

  test('members whose default organisation was deleted sign in to another of their organisations', async () => {
    const other = await makePeople(instance)
    await invited(other, people.member.email)
    expect(organizationOf(await signIn(people.member.email))).toEqual([200, people.organizationId])
    expect((await remove()).status).toBe(204)
    expect(organizationOf(await signIn(people.member.email))).toEqual([200, other.organizationId])
  })

  test('an organisation that still has projects is refused: 409 with the reason', async () => {
    await makeProject(instance, as('owner'))
    const { status, body } = await remove()
    expect([status, body.code, body.error]).toEqual([409, 'conflict', expect.stringContaining('still has projects')])
  })

  test('a user without another organisation can sign in again after a new invitation', async () => {
    await remove()
    expect(await signIn(people.viewer.email)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    const other = await makePeople(instance)
    expect(organizationOf(await invited(other, people.viewer.email))).toEqual([201, other.organizationId])
    expect(organizationOf(await signIn(people.viewer.email))).toEqual([200, other.organizationId])
  })

  test('a dangling default organisation of an older version locks no user out', async () => {
    await instance.database.db
      .updateTable('users')
      .set({ defaultOrganizationId: 'org_gone' })
      .where('id', '=', people.admin.userId)
      .execute()
    expect(organizationOf(await signIn(people.admin.email))).toEqual([200, people.organizationId])
  })
})

describe('members', () => {
  test('an admin changes roles, but neither appoints nor demotes owners', async () => {
    const change = (who: 'admin' | 'owner', userId: string, role: string) =>
      call(instance, as(who), 'PATCH /members/:userId', { params: { userId }, body: { role } })
    expect((await change('admin', people.member.userId, 'viewer')).body.data.role).toBe('viewer')
    expect((await change('admin', people.member.userId, 'owner')).status).toBe(403)
    expect((await change('admin', people.owner.userId, 'member')).status).toBe(403)
    expect((await change('owner', people.admin.userId, 'owner')).status).toBe(200)
  })
  test('409: the last owner stays, even if two owners demote each other concurrently', async () => {
    const demote = (who: string, userId: string) =>
      call(instance, who, 'PATCH /members/:userId', { params: { userId }, body: { role: 'admin' } })
    expect((await demote(as('owner'), people.owner.userId)).body.code).toBe('last_owner')
    await call(instance, as('owner'), 'PATCH /members/:userId', {
      params: { userId: people.admin.userId },
      body: { role: 'owner' },
    })
    const both = await Promise.all([demote(as('owner'), people.admin.userId), demote(as('admin'), people.owner.userId)])
    const left = await call(instance, as('viewer'), 'GET /members')
    expect(both.map(({ status }) => status)).toContain(200)
    expect(left.body.data.filter(({ role }: { role: string }) => role === 'owner').length).toBeGreaterThan(0)
  })
  test('a list continues at its cursor; 400 names an invalid cursor and a limit out of range', async () => {
    const first = await call(instance, as('viewer'), 'GET /members', { query: { limit: 3 } })
    const rest = await call(instance, as('viewer'), 'GET /members', { query: { limit: 3, cursor: first.body.nextCursor } })
    expect([first.body.data.length, rest.body.data.length, rest.body.nextCursor]).toEqual([3, 1, null])
    for (const [name, value] of [
      ['cursor', 'nonsense'],
      ['limit', 0],
      ['limit', 501],
      ['limit', 'many'],
    ] as const) {
      const { status, body } = await call(instance, as('viewer'), 'GET /members', { query: { [name]: value } })
      expect([status, body.field]).toEqual([400, name])
    }
  })
})

describe('invitations', () => {
  const invite = async (email: string, role = 'member') =>
    (await call(instance, as('owner'), 'POST /invitations', { body: { email, role } })).body.data
  const accept = (body: object) => call(instance, null, 'POST /invitations/accept', { body })

  test('are single use, bound to the address, and hashed at rest', async () => {
    const { code } = await invite('new@example.test')
    const rows = await instance.database.db.selectFrom('invitations').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(code)
    const body = { code, email: 'new@example.test', password: 'long enough', name: 'New' }
    expect((await accept({ ...body, email: 'other@example.test' })).status).toBe(404)
    const outcomes = (await Promise.all([accept(body), accept(body)])).map(({ status }) => status)
    expect(outcomes.filter((status) => status === 201)).toHaveLength(1)
    expect((await accept(body)).status).toBe(404)
  })
  test('an existing user confirms the password and joins a second organisation', async () => {
    const other = await makePeople(instance)
    const { code } = await invite(other.member.email, 'viewer')
    expect((await accept({ code, email: other.member.email, password: 'wrong one' })).status).toBe(401)
    expect((await accept({ code, email: other.member.email, password })).status).toBe(201)
  })
  test('a newer invitation replaces an older one for the same address; a withdrawn invitation is invalid', async () => {
    const first = await invite('twice@example.test')
    const second = await invite('twice@example.test')
    expect((await accept({ code: first.code, email: 'twice@example.test', password: 'long enough' })).status).toBe(404)
    await call(instance, as('owner'), 'DELETE /invitations/:id', { params: { id: second.id } })
    expect((await accept({ code: second.code, email: 'twice@example.test', password: 'long enough' })).status).toBe(404)
  })
  test('409: for a member; 403: an admin invites an owner', async () => {
    const again = await call(instance, as('owner'), 'POST /invitations', { body: { email: people.viewer.email, role: 'admin' } })
    expect(again.status).toBe(409)
    const owner = await call(instance, as('admin'), 'POST /invitations', { body: { email: 'o@example.test', role: 'owner' } })
    expect(owner.status).toBe(403)
  })
})

describe('the audit log', () => {
  test('records every write with its user, address and changes, and never a secret', async () => {
    await call(instance, as('admin'), 'POST /invitations', { body: { email: 'log@example.test', role: 'viewer' } })
    await call(instance, null, 'POST /auth/login', { body: { email: people.owner.email, password } })
    const { body } = await call(instance, as('viewer'), 'GET /audit-log')
    expect(body.data.map(({ action }: { action: string }) => action)).toEqual(['POST /auth/login', 'POST /invitations'])
    expect(body.data[1]).toMatchObject({
      userEmail: people.admin.email,
      ip: '127.0.0.1',
      changes: { email: 'log@example.test', role: 'viewer' },
    })
    expect(body.data[0].changes.password).toBe('[secret]')
    expect(JSON.stringify(body)).not.toContain(password)
  })
  test('does not record a refused write', async () => {
    await call(instance, as('viewer'), 'POST /invitations', { body: { email: 'log@example.test', role: 'viewer' } })
    expect((await call(instance, as('viewer'), 'GET /audit-log')).body.data).toEqual([])
  })
  test('each entry contains the hash of the previous one, also after concurrent writes; a changed entry is detected', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, at) => call(instance, as('owner'), 'POST /tokens', { body: { name: `token ${at}` } })),
    )
    const rows = await instance.database.db
      .selectFrom('auditLog')
      .selectAll()
      .where('organizationId', '=', people.organizationId)
      .orderBy('sequence')
      .execute()
    expect(rows).toHaveLength(20)
    expect(brokenLink(rows)).toBeNull()
    const forged = rows.with(7, { ...rows[7]!, changes: '{"name":"innocent"}' })
    expect(brokenLink(forged)?.sequence).toBe(8)
    expect(brokenLink(rows.toSpliced(4, 1))?.sequence).toBe(6)
  })
})
