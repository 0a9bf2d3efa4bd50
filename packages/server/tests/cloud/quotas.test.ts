// gate: also on PostgreSQL, since twenty requests ask for the last free place
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { readConfig } from '../../src/instance/config/config.ts'
import { newId } from '../../src/platform/db/ids.ts'
import { setScene } from '../deployments/scene.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { callOff, sendFile } from './bundle-kit.ts'

const limits = {
  BERTH_QUOTA_PROJECTS: '3',
  BERTH_QUOTA_CPU_CORES: '4',
  BERTH_QUOTA_MEMORY_MB: '2048',
  BERTH_QUOTA_BUILDS: '1',
  BERTH_QUOTA_ORGANIZATIONS: '2',
  BERTH_QUOTA_UPLOADS: '3',
  BERTH_QUOTA_ARRIVING_MB: '1',
}
let cloud: TestInstance
let operators: People
beforeAll(async () => {
  cloud = await startInstance({ BERTH_MODE: 'cloud', BERTH_MAX_BUILDS: '4', ...limits })
  operators = await makePeople(cloud)
})
afterAll(() => cloud.stop())

const small = { production: { cpuCores: 0.5, memoryMb: 128 } }
const refused = (quota: string) => ({ status: 403, body: { code: 'quota_exceeded', field: quota } })
const record = async ({ owner, organizationId }: People) =>
  (await call(cloud, owner.token, 'GET /organizations/:id', { params: { id: organizationId } })).body.data
const setQuotas = (organizationId: string, body: object, token = operators.owner.token) =>
  call(cloud, token, 'PUT /quotas/:organizationId', { params: { organizationId }, body })
const create = (token: string, body: object = {}) => call(cloud, token, 'POST /projects', { body: { name: 'Shop', ...body } })
const services = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => ({ name: `s${at}`, image: 'busybox', ...more }))

describe('limits of an organisation', () => {
  test('are in its record, with the current use', async () => {
    const mine = await makePeople(cloud)
    await makeProject(cloud, mine.owner.token)
    expect((await record(mine)).quotas).toEqual({
      projects: { limit: 3, used: 1 },
      cpuCores: { limit: 4, used: 1 },
      memoryMb: { limit: 2048, used: 512 },
      builds: { limit: 1, used: 0 },
    })
  })

  test('the organisation of the operators has no limits', async () => {
    for (let at = 0; at < 4; at += 1) await makeProject(cloud, operators.owner.token)
    expect((await record(operators)).quotas).toBeNull()
  })

  test('projects: the next one is 403 with the quota and its value; after deleting one it is allowed', async () => {
    const mine = await makePeople(cloud)
    const made = []
    for (let at = 0; at < 3; at += 1) made.push(await makeProject(cloud, mine.owner.token))
    const { status, body } = await create(mine.owner.token)
    expect({ status, body }).toMatchObject(refused('projects'))
    expect(body.error).toContain('is limited to 3 projects')
    expect(await call(cloud, mine.owner.token, 'POST /projects/ensure', { body: { name: 'More' } })).toMatchObject(
      refused('projects'),
    )
    await call(cloud, mine.owner.token, 'DELETE /projects/:id', { params: { id: made[0]!.id } })
    expect((await create(mine.owner.token)).status).toBe(201)
  })

  test('twenty concurrent requests: as many as the quota allows', async () => {
    const mine = await makePeople(cloud)
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(mine.owner.token)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
    expect((await record(mine)).quotas.projects.used).toBe(3)
  })

  test('uploads: of ten concurrent sessions as many as the quota allows; a session used by a project no longer counts', async () => {
    const mine = await makePeople(cloud)
    const { token } = mine.owner
    const open = (by = token) => call(cloud, by, 'POST /projects/folder/session', { body: {} })
    const answers = await Promise.all(Array.from({ length: 10 }, () => open()))
    const opened = answers.filter(({ status }) => status === 201)
    expect(opened).toHaveLength(3)
    expect(answers.find(({ status }) => status !== 201)).toMatchObject(refused('uploads'))
    const { sessionId, upload } = opened[0]!.body.data
    const { pathname, search } = new URL(upload.url)
    const payload = tarball({ name: 'package.json', content: '{}' })
    const sent = { method: 'PUT', url: pathname + search, headers: { 'content-type': 'application/gzip' }, payload } as const
    expect((await cloud.app.inject(sent)).statusCode).toBe(200)
    expect(await open()).toMatchObject(refused('uploads'))
    expect((await create(token, { gitProvider: 'upload', uploadSessionId: sessionId })).status).toBe(201)
    expect([(await open()).status, (await open()).status]).toEqual([201, 403])
    expect((await open((await makePeople(cloud)).owner.token)).status).toBe(201)
    for (let at = 0; at < 5; at += 1) expect((await open(operators.owner.token)).status).toBe(201)
  })

  test('transfers: files beyond the quota are refused, whatever their number; cancelling a transfer frees its space', async () => {
    const [{ owner }, other] = [await makePeople(cloud), await makePeople(cloud)]
    const open = async ({ token }: { token: string }) => {
      const id = newId('trf')
      const opened = await call(cloud, token, 'PUT /arrivals/:id', { params: { id }, body: { project: newId('prj') } })
      expect(opened.status).toBe(200)
      return id
    }
    const [one, two] = [await open(owner), await open(owner)]
    const send = (id: string, name: string, bytes = 500_000, { token } = owner) =>
      sendFile(cloud, token, id, name, Buffer.alloc(bytes, name))
    expect([(await send(one, 'a')).status, (await send(two, 'b')).status]).toEqual([204, 204])
    const tooMuch = { status: 403, code: 'quota_exceeded' }
    expect([await send(one, 'c'), await send(two, 'd', 1)]).toEqual([tooMuch, tooMuch])
    expect((await send(await open(other.owner), 'a', 500_000, other.owner)).status).toBe(204)
    await callOff(cloud, owner.token, one)
    expect((await send(two, 'd')).status).toBe(204)
    expect(await send(two, 'e')).toEqual(tooMuch)
  })

  test('CPU and memory: resources, services, environments and enabling are limited together', async () => {
    const mine = await makePeople(cloud)
    const on = callsOn(cloud, mine.owner.token)
    const [one, other] = [await makeProject(cloud, mine.owner.token), await makeProject(cloud, mine.owner.token)]
    expect(await on(one)('PATCH', '/resources', { production: { cpuCores: 3.5 } })).toMatchObject(refused('cpuCores'))
    expect(await on(one)('PATCH', '/resources', { production: { memoryMb: 1600 } })).toMatchObject(refused('memoryMb'))
    expect((await on(one)('GET', '/resources')).body.data.production).toMatchObject({ cpuCores: 1, memoryMb: 512 })
    expect((await on(one)('PATCH', '/resources', { production: { cpuCores: 3 } })).status).toBe(200)
    expect(await on(other)('POST', '/environments', { name: 'Staging' })).toMatchObject(refused('cpuCores'))
    expect((await on(other)('GET', '/environments')).body.data).toHaveLength(1)
    expect((await on(one)('POST', '/disable')).status).toBe(200)
    expect((await on(other)('POST', '/environments', { name: 'Staging' })).status).toBe(201)
    expect(await on(one)('POST', '/enable')).toMatchObject(refused('cpuCores'))
    expect((await on(other)('PATCH', '', { type: 'services', services: services(2) })).status).toBe(200)
    expect(await on(other)('PATCH', '', { services: services(3) })).toMatchObject(refused('cpuCores'))
    expect(await on(other)('POST', '/options', { services: services(2, { memoryMb: 60_000 }) })).toMatchObject(
      refused('memoryMb'),
    )
    expect((await on(other)('PATCH', '', { name: 'Renamed' })).status).toBe(200)
  })

  test('concurrent changes of every kind: no quota is exceeded', async () => {
    const mine = await makePeople(cloud)
    const on = callsOn(cloud, mine.owner.token)
    await Promise.all(
      Array.from({ length: 12 }, async (_, at) => {
        const made = await create(mine.owner.token, at % 2 ? { type: 'services', services: services(3) } : {})
        if (made.status !== 201) return
        await Promise.all([
          on(made.body.data)('PATCH', '/resources', { production: { cpuCores: 2, memoryMb: 1024 } }),
          on(made.body.data)('POST', '/environments', { name: 'Staging' }),
          on(made.body.data)('PATCH', '', { type: 'services', services: services(4) }),
        ])
      }),
    )
    const { quotas } = await record(mine)
    for (const { limit, used } of Object.values(quotas) as { limit: number; used: number }[])
      expect(used).toBeLessThanOrEqual(limit)
  })

  test('a preview of a pull request beyond the quota is refused with a message', async () => {
    const mine = await makePeople(cloud)
    const project = await makeProject(cloud, mine.owner.token)
    await callsOn(cloud, mine.owner.token)(project)('PATCH', '/resources', { production: { cpuCores: 3 } })
    const row = await cloud.database.db.selectFrom('projects').selectAll().where('id', '=', project.id).executeTakeFirstOrThrow()
    const answer = await cloud.projects.ensurePreview(row, { pullRequest: 7, branch: 'x', fromFork: false })
    expect(answer).toContain('is limited to 4 CPU cores')
    expect(await cloud.projects.environmentsOf(project.id)).toHaveLength(1)
  })

  test('organisations: a user owns at most the given number', async () => {
    const mine = await makePeople(cloud)
    const found = () => call(cloud, mine.owner.token, 'POST /organizations', { body: { name: 'Another' } })
    expect((await Promise.all([found(), found(), found()])).map(({ status }) => status).sort()).toEqual([201, 403, 403])
    expect(await found()).toMatchObject(refused('organizations'))
  })
})

describe('an operator sets other limits for an organisation', () => {
  test('PUT /quotas/:organizationId: takes effect at once; null restores those of the instance', async () => {
    const mine = await makePeople(cloud)
    expect(await setQuotas(mine.organizationId, { projects: 1 })).toMatchObject({
      status: 200,
      body: { data: { projects: { limit: 1, used: 0 }, cpuCores: { limit: 4 } } },
    })
    expect((await create(mine.owner.token)).status).toBe(201)
    expect(await create(mine.owner.token)).toMatchObject(refused('projects'))
    await setQuotas(mine.organizationId, { cpuCores: 9 })
    await setQuotas(mine.organizationId, { projects: null })
    expect((await record(mine)).quotas).toMatchObject({ projects: { limit: 3, used: 1 }, cpuCores: { limit: 9 } })
    expect((await setQuotas('org_aaaaaaaaaaaaaaaaaaaa', { projects: 1 })).status).toBe(404)
  })

  test('no other user can, not even for their own organisation', async () => {
    const mine = await makePeople(cloud)
    expect((await setQuotas(mine.organizationId, { projects: 99 }, mine.owner.token)).status).toBe(403)
    expect((await setQuotas(mine.organizationId, { projects: 99 }, operators.member.token)).status).toBe(403)
    const patched = { params: { id: mine.organizationId }, body: { name: 'Mine', quotas: { projects: 99 } } }
    await call(cloud, mine.owner.token, 'PATCH /organizations/:id', patched)
    expect((await record(mine)).quotas.projects.limit).toBe(3)
  })

  test('with a limit below the current use: no deployment is accepted, and changes that reduce the use are', async () => {
    const mine = await makePeople(cloud)
    const project = await makeProject(cloud, mine.owner.token, { gitUrl: 'https://git.example.test/acme/shop.git' })
    await setQuotas(mine.organizationId, { cpuCores: 0.5 })
    const deploy = () => call(cloud, mine.owner.token, 'POST /deployments/build/access', { body: { projectId: project.id } })
    expect(await deploy()).toMatchObject(refused('cpuCores'))
    expect((await callsOn(cloud, mine.owner.token)(project)('PATCH', '/resources', small)).status).toBe(200)
    expect((await deploy()).status).toBe(202)
  })
})

describe('deployments', () => {
  test('are limited in number per organisation at the same time', async () => {
    const mine = await makePeople(cloud)
    const project = await makeProject(cloud, mine.owner.token, { gitUrl: 'https://git.example.test/acme/shop.git' })
    await call(cloud, mine.owner.token, 'POST /deployments/build/access', { body: { projectId: project.id } })
    const jobs = await cloud.database.db.selectFrom('jobs').select(['poolKey', 'poolLimit']).execute()
    expect(jobs).toContainEqual({ poolKey: `builds:${mine.organizationId}`, poolLimit: 1 })
  })

  test('a Compose file that requests more than the quota fails before the build, with the reason', async () => {
    const scene = await setScene()
    const { instance, people } = scene
    const { organizationId } = people
    const given = { params: { organizationId }, body: { cpuCores: 4 } }
    expect((await call(instance, people.owner.token, 'PUT /quotas/:organizationId', given)).status).toBe(200)
    // Several services need a runtime with containers.
    Object.assign(instance.drivers.runtime, { kind: 'docker' })
    const { token } = people.member
    const { sessionId } = (await call(instance, token, 'POST /projects/folder/session', { body: {} })).body.data
    const content = `services:\n${Array.from({ length: 5 }, (_, at) => `  s${at}:\n    image: busybox\n`).join('')}`
    await instance.app.inject({
      ...{ method: 'POST', url: `/api/projects/folder/upload/${sessionId}`, payload: tarball({ name: 'compose.yaml', content }) },
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/gzip' },
    })
    const { id } = await makeProject(instance, token, { uploadSessionId: sessionId, type: 'services' })
    const { status, error } = await scene.settled(await scene.deploy(id))
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'quota_exceeded' })
    expect(error?.message).toContain('is limited to 4 CPU cores, and this would make 5')
    const { body } = await call(instance, people.owner.token, 'GET /organizations/:id', { params: { id: organizationId } })
    expect(body.data.quotas.cpuCores).toEqual({ limit: 4, used: 1 })
    await scene.end()
  })
})

test('a self-hosted instance has no quotas unless its settings have them', async () => {
  const plain = readConfig({ HOME: '/tmp' }).quotas
  expect(new Set(Object.values(plain))).toEqual(new Set([null]))
  expect(readConfig({ HOME: '/tmp', BERTH_MODE: 'cloud' }).quotas).toMatchObject({ projects: 20, builds: 2 })
  const here = await startInstance()
  const people = await makePeople(here)
  const answer = await call(here, people.owner.token, 'GET /organizations/:id', { params: { id: people.organizationId } })
  expect(answer.body.data.quotas).toBeNull()
  await here.stop()
})
