// gate: also on PostgreSQL, since changes of different fields meet
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
let foreign: People
beforeAll(async () => {
  instance = await startInstance()
  ;[people, foreign] = [await makePeople(instance), await makePeople(instance)]
})
afterAll(() => instance.stop())

const make = (body?: object) => makeProject(instance, people.member.token, body)
const on = (project: { id: string }, token = people.member.token) => callsOn(instance, token)(project)

describe('PATCH /projects/:id', () => {
  test('renaming keeps the slug and the URL', async () => {
    const project = await make({ name: 'Before' })
    const { status, body } = await on(project)('PATCH', '', { name: ' After ' })
    expect([status, body.data.name, body.data.slug]).toEqual([200, 'After', project.slug])
    expect(body.data.routes).toEqual(project.routes)
  })

  test('every create field is accepted and optional; unnamed fields stay', async () => {
    const project = await make({ buildCommand: 'make', port: 8080, volumes: [{ name: 'data', mountPath: '/data' }] })
    const fields = {
      framework: 'astro',
      packageManager: 'yarn',
      installCommand: 'yarn',
      startCommand: 'yarn start',
      outputDirectory: 'dist',
      rootDirectory: 'web',
      dockerfilePath: 'Dockerfile',
      composePath: 'compose.yml',
      buildImage: 'node:24',
      healthCheck: { path: '/' },
      services: [{ name: 'a', image: 'b' }],
      autoDeploy: false,
      previews: true,
      rollbackWindow: 20,
    }
    const { body } = await on(project)('PATCH', '', { ...fields, type: 'static', slug: `changed-${project.slug}` })
    expect(body.data).toMatchObject({ type: 'static', slug: `changed-${project.slug}` })
    expect(body.data.config).toMatchObject({ ...fields, buildCommand: 'make', port: 8080 })
    expect(body.data.config.volumes).toEqual([{ name: 'data', mountPath: '/data' }])
    expect((await on(project)('GET', '')).body.data).toEqual(body.data)
  })

  test('null restores the default', async () => {
    const project = await make({ framework: 'astro', healthCheck: { path: '/up' }, gitOwner: 'a', gitRepo: 'b' })
    const { body } = await on(project)('PATCH', '', { framework: null, healthCheck: null, gitOwner: null, gitProvider: null })
    expect(body.data.config).toMatchObject({ framework: null, healthCheck: null })
    expect(body.data.source).toMatchObject({ kind: 'none', provider: null, owner: null })
  })

  test('an empty body changes nothing, not even the time of the last change', async () => {
    const project = await make()
    expect((await on(project)('PATCH', '', {})).body.data).toEqual(project)
  })

  test('409 slug_taken: the slug of another project; the own slug is no conflict', async () => {
    const [one, two] = [await make(), await make()]
    const taken = await on(two)('PATCH', '', { slug: one.slug, name: 'New' })
    expect([taken.status, taken.body.code, taken.body.field]).toEqual([409, 'slug_taken', 'slug'])
    expect((await on(two)('GET', '')).body.data.name).toBe(two.name)
    expect((await on(two)('PATCH', '', { slug: two.slug })).status).toBe(200)
  })

  test.each([
    ['name', { name: ' ' }],
    ['name', { name: null }],
    ['autoDeploy', { autoDeploy: '1' }],
    ['gitUrl', { gitUrl: 'ftp://x/y' }],
    ['healthCheck.path', { healthCheck: { path: '/\r\nx' } }],
    [
      'volumes.1.name',
      {
        volumes: [
          { name: 'a', mountPath: '/a' },
          { name: 'a', mountPath: '/b' },
        ],
      },
    ],
    ['serverId', { serverId: 'srv_nowhere' }],
    ['uploadSessionId', { uploadSessionId: 'upl_nowhere' }, 404],
  ])('400 (404: an upload that does not exist) names the field, and nothing changes: %s', async (field, body, expected = 400) => {
    const project = await make()
    const answer = await on(project)('PATCH', '', { framework: 'astro', ...body })
    expect([answer.status, answer.body.field]).toEqual([expected, field])
    expect((await on(project)('GET', '')).body.data).toEqual(project)
  })

  test('unknown fields are dropped', async () => {
    const project = await make()
    const { status } = await on(project)('PATCH', '', { organizationId: foreign.organizationId, enabled: false, id: 'prj_x' })
    expect(status).toBe(200)
    expect((await on(project)('GET', '')).body.data).toEqual(project)
  })

  test('the URL of the repository always matches its owner and name', async () => {
    const project = await make({ gitUrl: 'https://git.example.com/acme/shop.git' })
    const source = async (body: object) => (await on(project)('PATCH', '', body)).body.data.source
    expect(await source({ gitRepo: 'other' })).toMatchObject({ url: 'https://git.example.com/acme/other.git', repo: 'other' })
    expect(await source({ gitUrl: 'git@git.example.com:a/b.git' })).toMatchObject({ owner: 'a', repo: 'b' })
    expect(await source({ gitProvider: 'github', gitOwner: 'c', gitRepo: 'd' })).toMatchObject({
      url: 'https://github.com/c/d.git',
    })
  })

  test('two concurrent changes of different fields are both kept', async () => {
    const project = await make()
    const fields = ['rootDirectory', 'installCommand', 'buildCommand', 'startCommand', 'outputDirectory', 'buildImage']
    await Promise.all(fields.map((field) => on(project)('PATCH', '', { [field]: field })))
    const { config } = (await on(project)('GET', '')).body.data
    for (const field of fields) expect(config[field]).toBe(field)
  })

  test('403: a viewer lacks the permission; a grant gives it to one user on one project', async () => {
    const [one, two] = [await make(), await make()]
    const asViewer = (project: { id: string }) => on(project, people.viewer.token)('PATCH', '', { framework: 'astro' })
    expect((await asViewer(one)).body).toMatchObject({ code: 'forbidden', permission: 'project:write' })
    await on(one, people.owner.token)('PUT', '/grants', { userId: people.viewer.userId, level: 'write' })
    expect([(await asViewer(one)).status, (await asViewer(two)).status]).toEqual([200, 403])
    await on(one, people.owner.token)('PUT', '/grants', { userId: people.viewer.userId, level: null })
  })
})

describe('GET /projects/:id', () => {
  test('404: in another organisation, unknown, or outside the token’s projects', async () => {
    const project = await make()
    expect((await on(project, foreign.owner.token)('GET', '')).status).toBe(404)
    for (const id of ['prj_nowhere', '\0', "x' or '1'='1"]) {
      const { status, body } = await call(instance, people.owner.token, 'GET /projects/:id', { params: { id } })
      expect([status, body.code]).toEqual([404, 'not_found'])
    }
    const limited = await makeToken(instance, people.owner, { projectIds: [(await make()).id] })
    expect((await on(project, limited)('GET', '')).status).toBe(404)
  })

  test('no record ever holds a secret, a ciphertext or a token', async () => {
    const project = await make()
    await on(project, people.owner.token)('PATCH', '/clone-token', { token: 'ghp_canary_of_this_test' })
    await on(project)('PATCH', '/env', { upserts: [{ key: 'A', value: 'canary of this test', isSecret: true }] })
    for (const path of ['', '/info', '/env', '/clone-token', '/deletion-preview', '/environments'] as const) {
      const text = JSON.stringify((await on(project)('GET', path)).body)
      expect(text).not.toMatch(/canary|v1\.[0-9a-f]{8}\./)
    }
    const log = await call(instance, people.owner.token, 'GET /audit-log', { query: { objectId: project.id } })
    expect(log.body.data).toHaveLength(3)
    expect(JSON.stringify(log.body)).not.toContain('canary')
  })
})

describe('POST /projects/ensure', () => {
  const ensure = (body: object, token = people.member.token) => call(instance, token, 'POST /projects/ensure', { body })

  test('201 without projectId: a project is created', async () => {
    const { status, body } = await ensure({ name: 'Ensured', framework: 'vite' })
    expect([status, body.data.name, body.data.config.framework]).toEqual([201, 'Ensured', 'vite'])
  })

  test('200 with projectId: it is updated in place', async () => {
    const project = await make({ framework: 'vite', port: 8080 })
    const { status, body } = await ensure({ projectId: project.id, name: 'Again', framework: 'astro' })
    expect([status, body.data.id, body.data.slug]).toEqual([200, project.id, project.slug])
    expect(body.data).toMatchObject({ name: 'Again', config: { framework: 'astro', port: 8080 } })
  })

  test('400: a new project without a folder as its source needs a `name`', async () => {
    for (const body of [{}, { name: null }, { name: ' ' }, { gitOwner: 'acme', gitRepo: 'shop' }]) {
      const answer = await ensure(body)
      expect([answer.status, answer.body.field]).toEqual([400, 'name'])
    }
  })

  test.each([{}, { name: null }])('200 with projectId and %j: the project keeps its name', async (body) => {
    const project = await make({ name: 'Chosen' })
    const answer = await ensure({ projectId: project.id, ...body })
    expect([answer.status, answer.body.data.name, answer.body.warnings]).toEqual([200, 'Chosen', undefined])
  })

  test('404: a projectId of another organisation, an unknown one, or one outside the token’s projects', async () => {
    const project = await make()
    expect((await ensure({ projectId: project.id, name: 'Mine now' }, foreign.owner.token)).status).toBe(404)
    expect((await ensure({ projectId: 'prj_nowhere', name: 'x' })).status).toBe(404)
    const limited = await makeToken(instance, people.member, { projectIds: [(await make()).id] })
    expect((await ensure({ projectId: project.id, name: 'x' }, limited)).status).toBe(404)
    expect((await on(project)('GET', '')).body.data).toEqual(project)
  })

  test('403: level write on the project is required, whatever the role says', async () => {
    const project = await make()
    await on(project, people.owner.token)('PUT', '/grants', { userId: people.member.userId, level: 'read' })
    const { status, body } = await ensure({ projectId: project.id, name: 'x' })
    expect([status, body.permission]).toEqual([403, 'project:write'])
    expect((await ensure({ projectId: project.id, name: 'x' }, people.admin.token)).status).toBe(200)
  })

  test('a token limited to certain projects updates them and creates none', async () => {
    const project = await make()
    const limited = await makeToken(instance, people.member, { projectIds: [project.id] })
    expect((await ensure({ projectId: project.id, name: 'Fine' }, limited)).status).toBe(200)
    expect((await ensure({ name: 'New' }, limited)).status).toBe(403)
  })

  test('409 slug_taken, with and without projectId', async () => {
    const [one, two] = [await make(), await make()]
    for (const body of [{ slug: one.slug }, { slug: one.slug, projectId: two.id }])
      expect((await ensure({ name: 'x', ...body })).body.code).toBe('slug_taken')
  })
})
