// gate: also on PostgreSQL, since the template of a project is a row of its own
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Scene, setScene } from '../deployments/scene.ts'
import { call } from '../kit/call.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'

let scene: Scene
let people: People
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene.end())
beforeEach(async () => {
  scene.instance.drivers.runtime.kind = 'docker'
  // The health checks of the templates.
  scene.instance.drivers.runtime.onExec = async () => ({ exitCode: 0, stderrTail: '' })
  people = await makePeople(scene.instance)
})

const db = () => scene.instance.database.db
const add = (templateId: string, body: object | undefined = {}, token = people.member.token) =>
  call(scene.instance, token, 'POST /catalogue/:templateId', { params: { templateId }, ...(body ? { body } : {}) })
const list = (query: Record<string, string | number> = {}) =>
  call(scene.instance, people.viewer.token, 'GET /catalogue', { query })
const bucket = { bucket: 'backups', accessKeyId: 'key', secretAccessKey: 'secret' }
const addDestination = (name: string) =>
  call(scene.instance, people.admin.token, 'POST /backup-destinations', { body: { name, kind: 's3', config: bucket } })
const policiesOf = async (projectId: string) =>
  (await call(scene.instance, people.member.token, 'GET /projects/:projectId/backup-policies', { params: { projectId } })).body
    .data
const projectsOf = async () => (await call(scene.instance, people.member.token, 'GET /projects')).body.data
const settledOf = async (projectId: string) => {
  const deployment = await db()
    .selectFrom('deployments')
    .select('id')
    .where('projectId', '=', projectId)
    .executeTakeFirstOrThrow()
  await scene.instance.jobs.whenIdle()
  return (await call(scene.instance, people.member.token, 'GET /deployments/:id', { params: { id: deployment.id } })).body.data
}

describe('the catalogue', () => {
  test('lists templates by title, by text and by category, in pages', async () => {
    const all = (await list()).body
    expect(all.nextCursor).toBeNull()
    expect(all.data.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining(['postgres', 'redis', 'mailpit']))
    const [first] = (await list({ search: 'PostgreS' })).body.data.filter(({ id }: { id: string }) => id === 'postgres')
    expect(first).toMatchObject({ id: 'postgres', category: 'databases', version: expect.stringMatching(/^\d+\.\d+/) })
    expect(first.services).toEqual([
      expect.objectContaining({ name: 'postgres', ports: [5432], exposed: false, volumes: [expect.anything()] }),
    ])
    expect((await list({ search: 'no such template' })).body.data).toEqual([])
    const caches = (await list({ category: 'caches' })).body.data
    expect(new Set(caches.map(({ category }: { category: string }) => category))).toEqual(new Set(['caches']))
    const page = (await list({ limit: 2 })).body
    const next = (await list({ limit: 500, cursor: page.nextCursor })).body
    expect([...page.data, ...next.data]).toEqual(all.data)
    expect(await list({ category: 'toys' })).toMatchObject({ status: 400, body: { field: 'category' } })
    expect(await list({ cursor: 'nothing' })).toMatchObject({ status: 400, body: { field: 'cursor' } })
  })

  test('shows what a template creates, and why it cannot be used here', async () => {
    const get = (templateId: string) =>
      call(scene.instance, people.viewer.token, 'GET /catalogue/:templateId', { params: { templateId } })
    const { body } = await get('postgres')
    expect(body.data).toMatchObject({ backup: { proveEveryDays: 7 }, unavailable: null })
    expect(body.data.linkVariables).toContain('DATABASE_URL')
    scene.instance.drivers.runtime.kind = 'process'
    expect((await get('mongodb')).body.data.unavailable).toMatch(/needs Docker/)
    for (const id of ['nothing', '..%2fpostgres', 'POSTGRES', '__proto__'])
      expect(await get(id)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})

describe('a template that is added', () => {
  test('becomes a project with secrets, volumes and a backup policy, and is deployed', async () => {
    await addDestination('one')
    const { status, body } = await add('postgres', { name: 'Main database', variables: { POSTGRES_DB: 'shop' } })
    expect(status).toBe(201)
    expect(body.warnings).toBeUndefined()
    expect(body.data).toMatchObject({ name: 'Main database', slug: 'main-database', type: 'services' })
    const { id } = body.data
    const env = await call(scene.instance, people.admin.token, 'GET /projects/:id/env', { params: { id } })
    const shown = env.body.data.map(({ key, value, isSecret }: Record<string, unknown>) => [key, value, isSecret])
    expect(shown).toEqual([
      ['POSTGRES_DB', 'shop', false],
      ['POSTGRES_PASSWORD', '••••••••', true],
      ['POSTGRES_USER', 'app', false],
    ])
    expect(await policiesOf(id)).toEqual([
      expect.objectContaining({ cronExpression: '0 3 * * *', proveEveryDays: 7, retainCount: 14, enabled: true }),
    ])
    expect(await settledOf(id)).toMatchObject({ status: 'live', trigger: 'manual' })
    const started = [...scene.instance.drivers.runtime.running.values()].find(({ request }) => request.owner.projectId === id)
    expect(started?.request).toMatchObject({
      service: 'postgres',
      artifact: { reference: expect.stringMatching(/^postgres:\d+\.\d+$/) },
      env: { POSTGRES_USER: 'app', POSTGRES_DB: 'shop', POSTGRES_PASSWORD: expect.stringMatching(/^[a-z2-7]{32}$/) },
      port: 5432,
      volumes: [expect.objectContaining({ name: 'data', mountPath: '/var/lib/postgresql' })],
    })
    // Nothing shows the password: not the record, the deployment or the audit log.
    const password = started?.request.env.POSTGRES_PASSWORD as string
    const audit = await call(scene.instance, people.owner.token, 'GET /audit-log')
    const record = await call(scene.instance, people.owner.token, 'GET /projects/:id', { params: { id } })
    expect(JSON.stringify([body, audit.body, record.body])).not.toContain(password)
    expect(audit.body.data).toContainEqual(expect.objectContaining({ action: 'POST /catalogue/:templateId', objectId: id }))
    expect(await db().selectFrom('projectTemplates').selectAll().where('projectId', '=', id).execute()).toEqual([
      expect.objectContaining({ templateId: 'postgres', service: 'postgres', port: 5432 }),
    ])
  })

  test('works without a body, and each one has secrets of its own', async () => {
    const [one, other] = [await add('redis', undefined), await add('redis')]
    expect([one.status, other.status]).toEqual([201, 201])
    expect(one.body.data.slug).not.toBe(other.body.data.slug)
    await scene.instance.jobs.whenIdle()
    const passwords = [...scene.instance.drivers.runtime.running.values()].flatMap(
      ({ request }) => request.env.REDIS_PASSWORD ?? [],
    )
    expect(new Set(passwords).size).toBe(2)
  })

  test('has a warning if there is no backup destination, or several', async () => {
    expect((await add('redis')).body.warnings).toEqual([expect.stringMatching(/no backup policy: .*no backup destination/)])
    await addDestination('one')
    await addDestination('two')
    expect((await add('redis')).body.warnings).toEqual([expect.stringMatching(/no backup policy: .*2 backup destinations/)])
    // Nothing to back up.
    expect((await add('memcached')).body.warnings).toBeUndefined()
  })

  test('requires the permission for policies only for the policy', async () => {
    await addDestination('one')
    const token = await makeToken(scene.instance, people.member, { scopes: ['project:write'] })
    const { status, body } = await add('redis', {}, token)
    expect([status, body.warnings]).toEqual([201, [expect.stringMatching(/you may not create one/)]])
    expect(await policiesOf(body.data.id)).toEqual([])
  })

  test.each([
    ['variables.NOTHING', { variables: { NOTHING: 'x' } }],
    ['variables.POSTGRES_USER', { variables: { POSTGRES_USER: 'a b; drop' } }],
    ['variables.POSTGRES_PASSWORD', { variables: { POSTGRES_PASSWORD: '' } }],
    ['variables', { variables: ['x'] }],
    ['name', { name: ' ' }],
  ])('with a wrong %s is refused, and nothing is created', async (field, body) => {
    const answer = await add('postgres', body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.field).toMatch(new RegExp(`^${field.replace('.', '\\.')}`))
    expect(await projectsOf()).toEqual([])
  })

  test('that needs Docker is refused without Docker, before anything is created', async () => {
    scene.instance.drivers.runtime.kind = 'process'
    const answer = await add('mongodb')
    expect(answer).toMatchObject({
      status: 409,
      body: { code: 'conflict', error: expect.stringMatching(/MongoDB needs Docker/) },
    })
    expect(await projectsOf()).toEqual([])
  })

  test('requires the permission to create projects', async () => {
    expect(await add('redis', {}, people.viewer.token)).toMatchObject({ status: 403, body: { permission: 'project:write' } })
    expect(await add('nothing')).toMatchObject({ status: 404 })
    const other = await makePeople(scene.instance)
    const { id } = (await add('redis')).body.data
    expect((await call(scene.instance, other.owner.token, 'GET /projects/:id', { params: { id } })).status).toBe(404)
  })
})
