// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import type { Method } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { readEvents } from '../kit/event-reader.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
let url: string
let project: { id: string }
let staging: { id: string; slug: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
  url = await instance.app.listen({ host: '127.0.0.1', port: 0 })
})
beforeEach(async () => {
  project = await makeProject(instance, people.admin.token, { gitProvider: 'upload' })
  on = callsOn(instance, people.admin.token)(project)
  staging = (await on('POST', '/environments', { name: 'Staging' })).body.data
})
afterAll(() => instance.stop())

type Location = [what: string, ask: (environment: string) => ReturnType<typeof call>]
const query = (path: `/${string}`, method: Method = 'GET'): Location => [
  `${method} ${path}?environment=`,
  (environment) => on(method, path, undefined, { query: { environment } }),
]
const locations: Location[] = [
  query('/env'),
  query('/logs'),
  query('/server-logs/recent'),
  query('/metrics'),
  query('/deployments'),
  ['PATCH /env', (environment) => on('PATCH', '/env', { environment, upserts: [{ key: 'A', value: 'b' }] })],
  [
    'GET /deployments?environment=',
    (environment) => call(instance, people.admin.token, 'GET /deployments', { query: { environment } }),
  ],
  [
    'GET /deployments?projectId&environment=',
    (environment) => call(instance, people.admin.token, 'GET /deployments', { query: { environment, projectId: project.id } }),
  ],
  [
    'POST /deployments/build/access',
    (environment) =>
      call(instance, people.admin.token, 'POST /deployments/build/access', { body: { projectId: project.id, environment } }),
  ],
  ['POST /exec', (environment) => on('POST', '/exec', { argv: ['true'], environment })],
  [
    'GET /environments/:environment/deletion-preview',
    (environment) => on('GET', '/environments/:environment/deletion-preview', undefined, { params: { environment } }),
  ],
  [
    'DELETE /environments/:environment',
    (environment) => on('DELETE', '/environments/:environment', undefined, { params: { environment } }),
  ],
]

describe('a parameter that names an environment', () => {
  test.each(locations)('%s: accepts its slug or id', async (_, request) => {
    const bySlug = await request(staging.slug)
    staging = (await on('POST', '/environments', { name: 'Another' })).body.data
    const byId = await request(staging.id)
    expect([bySlug.status, bySlug.body?.code]).toEqual([byId.status, byId.body?.code])
    // 409 because nothing was deployed there.
    expect([200, 202, 409]).toContain(byId.status)
  })

  test.each(locations)('%s: 400 names `environment` if it does not exist', async (_, request) => {
    const other = await makeProject(instance, people.admin.token)
    const foreign = (await makePeople(instance)).admin.token
    const elsewhere = callsOn(instance, foreign)(await makeProject(instance, foreign))
    const { id } = (await elsewhere('POST', '/environments', { name: 'Foreign' })).body.data
    const { data } = (await callsOn(instance, people.admin.token)(other)('GET', '/environments')).body
    for (const name of ['nowhere', 'env_nowhere', id, 'Staging', ...(_.startsWith('GET /deployments?e') ? [] : [data[0].id])]) {
      const { status, body } = await request(name)
      expect([name, status, body.code, body.field]).toEqual([name, 400, 'validation_failed', 'environment'])
    }
  })

  test('a project has exactly one production environment', async () => {
    expect((await on('POST', '/environments', { name: 'Live', type: 'production' })).body).toMatchObject({ field: 'type' })
    expect((await on('POST', '/environments', { name: 'Production' })).body).toMatchObject({ code: 'slug_taken' })
    const types = (await on('GET', '/environments')).body.data.map(({ type }: { type: string }) => type)
    expect(types).toEqual(['production', 'preview'])
  })
})

describe('the environment of log lines', () => {
  const line = { stream: 'stdout', service: null, deploymentId: null } as const
  const request = { ip: '192.0.2.1', method: 'GET', host: 'x.test', path: '/', status: 200, durationMs: 1, bytesIn: 0 } as const

  test('runtime logs are filtered by `environment` and show it, with the service', async () => {
    await instance.logStore.append(project.id, 'runtime', [
      { ...line, environment: 'production', message: 'from production' },
      { ...line, environment: 'staging', service: 'web', message: 'from staging' },
    ])
    const logs = async (wanted?: string) =>
      (await on('GET', '/logs', undefined, wanted ? { query: { environment: wanted } } : {})).body.data
    expect(await logs()).toMatchObject([
      { environment: 'production', service: null },
      { environment: 'staging', service: 'web' },
    ])
    for (const name of [staging.slug, staging.id])
      expect(await logs(name)).toMatchObject([{ environment: 'staging', message: 'from staging' }])
    const headers = { authorization: `Bearer ${people.viewer.token}` }
    const stream = await readEvents(`${url}/api/projects/${project.id}/logs/stream?environment=${staging.id}`, headers)
    await expect.poll(() => stream.events.map(({ data }) => data.message)).toEqual(['from staging'])
    stream.close()
  })

  test('request logs are filtered by `environment` and show it, with the service', async () => {
    await instance.logStore.append(project.id, 'requests', [
      { ...request, environment: 'production', service: null, bytesOut: 0, userAgent: null, deploymentId: null },
      { ...request, environment: 'staging', service: 'web', bytesOut: 0, userAgent: null, deploymentId: null },
    ])
    const { data } = (await on('GET', '/server-logs/recent', undefined, { query: { environment: staging.id } })).body
    expect(data).toMatchObject([{ environment: 'staging', service: 'web', path: '/' }])
    const all = (await on('GET', '/server-logs/recent')).body.data
    expect(all.map(({ environment }: { environment: string }) => environment).sort()).toEqual(['production', 'staging'])
  })

  test('a line stored before the environment was recorded has null', async () => {
    await instance.logStore.append(project.id, 'runtime', [{ ...line, message: 'early' }])
    expect((await on('GET', '/logs')).body.data).toMatchObject([{ environment: null, message: 'early' }])
  })
})
