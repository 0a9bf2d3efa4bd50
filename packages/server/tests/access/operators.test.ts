// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People, password } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

let base: string
let data: string
let instance: TestInstance
let people: People
let others: People
beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'berth-operators-')))
  data = join(base, 'data')
  for (const folder of ['data/projects/app', 'data/uploads/one', 'data/logs', 'home/.config/berth', 'home/app'])
    mkdirSync(join(base, folder), { recursive: true })
  writeFileSync(join(data, 'projects/app/index.html'), '<h1>mine</h1>')
  symlinkSync(join(data, 'uploads/one'), join(data, 'projects/way-out'))
  instance = await startInstance({ BERTH_DATA_DIR: data, HOME: join(base, 'home') })
  people = await makePeople(instance)
  others = await makePeople(instance)
})
afterAll(async () => {
  await instance.stop()
  rmSync(base, { recursive: true, force: true })
})

const app = () => join(data, 'projects/app')

/** Each route that names a folder of the machine. */
const ways = {
  scan: (token: string, path: string) => call(instance, token, 'POST /projects/scan', { body: { path } }),
  import: (token: string, path: string) => call(instance, token, 'POST /projects/import', { body: { path } }),
  create: (token: string, localPath: string) => call(instance, token, 'POST /projects', { body: { name: 'x', localPath } }),
  ensure: (token: string, localPath: string) =>
    call(instance, token, 'POST /projects/ensure', { body: { name: 'x', localPath } }),
  update: async (token: string, localPath: string) => {
    const { id } = await makeProject(instance, token)
    return call(instance, token, 'PATCH /projects/:id', { params: { id }, body: { localPath } })
  },
  'ensure with projectId': async (token: string, localPath: string) => {
    const { id } = await makeProject(instance, token)
    return call(instance, token, 'POST /projects/ensure', { body: { name: 'x', projectId: id, localPath } })
  },
}

describe.each(Object.entries(ways))('a folder of the machine, named by %s', (_, request) => {
  test('403: a member, and users of any organisation except the one made at set-up', async () => {
    for (const person of [people.member, others.owner, others.admin]) {
      const { status, body } = await request(person.token, app())
      expect([status, body.code]).toEqual([403, 'forbidden'])
    }
  })
  test('an owner or admin of that organisation may', async () => {
    for (const { token } of [people.owner, people.admin]) expect([200, 201]).toContain((await request(token, app())).status)
  })
  test('400 for operators too: other parts of the data folder, the home folder, a dot-folder, or a link to one of these', async () => {
    const paths = ['data', 'data/uploads/one', 'data/logs', 'data/projects/way-out', 'home', 'home/app', 'home/.config/berth']
    for (const path of paths) {
      const { status, body } = await request(people.owner.token, join(base, path))
      expect([path, status, ['path', 'localPath'].includes(body.field)]).toEqual([path, 400, true])
    }
  })
})

describe('an operator', () => {
  test('is shown by the session: an owner or admin of the organisation made at set-up, and no other user', async () => {
    const isOperator = async (token: string) => (await call(instance, token, 'GET /auth/session')).body.data.operator
    for (const { token } of [people.owner, people.admin]) expect(await isOperator(token)).toBe(true)
    for (const { token } of [people.member, others.owner]) expect(await isOperator(token)).toBe(false)
  })
  test('is an operator in every organisation with a session; with a token only in the organisation of the token', async () => {
    const host = 'berth.test'
    const login = await call(instance, null, 'POST /auth/login', {
      body: { email: people.owner.email, password },
      headers: { host },
    })
    const cookie = String(login.headers['set-cookie']).split(';')[0] as string
    const headers = { cookie, host, origin: `http://${host}` }
    const second = (await call(instance, null, 'POST /organizations', { body: { name: 'Second' }, headers })).body.data.id
    const there = { ...headers, 'x-organization-id': second }
    expect((await call(instance, null, 'POST /projects/scan', { body: { path: app() }, headers: there })).status).toBe(200)
    const token = await makeToken(instance, { userId: people.owner.userId, organizationId: second })
    expect((await ways.scan(token, app())).status).toBe(403)
  })
  test('is neither a user who lost the role nor a token limited to projects', async () => {
    const crew = await makePeople(instance)
    await call(instance, people.owner.token, 'POST /invitations', { body: { email: crew.owner.email, role: 'admin' } })
    const { id } = await makeProject(instance, people.owner.token)
    const limited = await makeToken(instance, people.owner, { projectIds: [id] })
    const { status } = await call(instance, limited, 'PATCH /projects/:id', { params: { id }, body: { localPath: app() } })
    expect(status).toBe(403)
    const role = (to: string) =>
      call(instance, people.owner.token, 'PATCH /members/:userId', {
        params: { userId: people.admin.userId },
        body: { role: to },
      })
    await role('member')
    expect((await ways.scan(people.admin.token, app())).status).toBe(403)
    await role('admin')
    expect((await ways.scan(people.admin.token, app())).status).toBe(200)
  })
  test('409: the organisation made at set-up cannot be deleted', async () => {
    const params = { id: people.organizationId }
    expect((await call(instance, people.owner.token, 'DELETE /organizations/:id', { params })).status).toBe(409)
  })
  test('is the user that the first start creates, by link or by settings', async () => {
    const fresh = await startInstance()
    try {
      const { setupUrl } = await fresh.access.prepareFirstStart({ adminEmail: null, adminPassword: null })
      const code = new URL(setupUrl as string).searchParams.get('code')
      const body = { code, email: 'me@example.test', password: 'long enough', organization: 'Mine' }
      const made = await call(fresh, null, 'POST /auth/setup', { body })
      const { organization, user } = made.body.data
      const token = await makeToken(fresh, { userId: user.id, organizationId: organization.id })
      const scan = (path: string) => call(fresh, token, 'POST /projects/scan', { body: { path } })
      expect((await scan('/nowhere')).status, 'asked for, but outside').toBe(400)
    } finally {
      await fresh.stop()
    }
  })
})
