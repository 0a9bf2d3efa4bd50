import type { Deployment } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { deploymentFacts, MemoryDeployments, MemoryRuntime } from '../kit/project-ports.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

const deployments = new MemoryDeployments()
const runtime = new MemoryRuntime()
let plain: TestInstance
let instance: TestInstance
let people: People
let project: { id: string; slug: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  ;[plain, instance] = await Promise.all([
    startInstance(),
    startInstance({}, { projectPorts: { deployments, running: runtime, power: runtime } }),
  ])
  people = await makePeople(instance)
})
beforeEach(async () => {
  project = await makeProject(instance, people.admin.token)
  on = callsOn(instance, people.viewer.token)(project)
})
afterAll(() => Promise.all([plain.stop(), instance.stop()]))

const live = deploymentFacts({
  id: 'dep_live',
  number: 3,
  commit: 'abc123',
  sizeBytes: 99,
  builtAt: '2026-01-01T00:00:00.000Z',
})

describe('before the first deployment', () => {
  test('the list is empty, the session is null, and the status is `created`', async () => {
    const { owner } = await makePeople(plain)
    const calls = callsOn(plain, owner.token)(await makeProject(plain, owner.token))
    expect((await calls('GET', '/deployments')).body).toEqual({ data: [], nextCursor: null })
    expect(await calls('POST', '/deployment-session')).toMatchObject({ status: 200, body: { data: null } })
    const { body } = await calls('GET', '/info')
    expect(body.data).toMatchObject({
      runtime: { driver: 'process', status: 'created', deploymentId: null, startedAt: null, instances: 0, port: null },
      build: { image: null, sizeBytes: null, builtAt: null },
      source: { kind: 'none', commit: null },
    })
  })
})

describe('GET /projects/:id/deployments', () => {
  test('lists the deployments of the project', async () => {
    const deployment: Deployment = {
      id: 'dep_live',
      projectId: project.id,
      environment: 'production',
      number: 3,
      trigger: 'manual',
      status: 'live',
      commit: null,
      image: null,
      sizeBytes: null,
      url: null,
      steps: [],
      requestsDuringSwitch: null,
      error: null,
      plan: null,
      createdAt: '2026-01-01T00:00:00.000Z',
      startedAt: null,
      finishedAt: null,
      createdBy: null,
    }
    deployments.listed.push(deployment, { ...deployment, projectId: 'prj_other' })
    const { status, body } = await on('GET', '/deployments')
    expect([status, body]).toEqual([200, { data: [deployment], nextCursor: null }])
  })

  test('400: an unknown status, a limit out of range', async () => {
    for (const [name, value] of [
      ['status', 'fine'],
      ['limit', 501],
    ] as const) {
      const { status, body } = await on('GET', '/deployments', undefined, { query: { [name]: value } })
      expect([status, body.field]).toEqual([400, name])
    }
  })

  test('403 without the permission of the route', async () => {
    const token = await makeToken(instance, people.owner, { scopes: ['project:read'] })
    const { status, body } = await callsOn(instance, token)(project)('GET', '/deployments')
    expect([status, body.permission]).toEqual([403, 'project:deployment:list'])
  })
})

describe('POST /projects/:id/deployment-session', () => {
  test('returns a token that opens only the stream of the newest deployment', async () => {
    deployments.known.set(project.id, { newest: deploymentFacts({ id: 'dep_new', status: 'building' }), live })
    const { status, body } = await on('POST', '/deployment-session')
    expect(status).toBe(200)
    expect(body.data).toMatchObject({ deploymentId: 'dep_new', status: 'building', streamUrl: '/api/deployments/dep_new/stream' })
    expect(Date.parse(body.data.expiresAt)).toBeGreaterThan(Date.now())
    const { streamTokens } = instance.access
    const again = await on('POST', '/deployment-session')
    expect(await streamTokens.spend(again.body.data.token, '/api/deployments/dep_other/stream')).toBeNull()
    expect(await streamTokens.spend(body.data.token, body.data.streamUrl)).toMatchObject({ userId: people.viewer.userId })
  })
})

describe('GET /projects/:id and /info of a deployed project', () => {
  test('show the live version', async () => {
    deployments.known.set(project.id, { newest: live, live })
    await runtime.bringOnline(project.id)
    expect((await on('GET', '')).body.data).toMatchObject({ status: 'live', statusReason: null, source: { commit: 'abc123' } })
    expect((await on('GET', '/info')).body.data).toMatchObject({
      id: project.id,
      runtime: {
        driver: 'memory',
        status: 'live',
        deploymentId: 'dep_live',
        instances: 1,
        url: `http://${project.slug}.localhost:4080`,
      },
      build: { sizeBytes: 99, builtAt: '2026-01-01T00:00:00.000Z' },
    })
  })

  test('show after a failed deployment that the old version still serves', async () => {
    deployments.known.set(project.id, {
      newest: deploymentFacts({ id: 'dep_bad', number: 4, status: 'failed', error: 'exit code 1' }),
      live,
    })
    await runtime.bringOnline(project.id)
    expect((await on('GET', '')).body.data).toMatchObject({
      status: 'live',
      statusReason: 'Deployment 4 failed: exit code 1; deployment 3 is still live',
    })
  })
})

describe('transfers', () => {
  test.each(['/transfer/to-cloud', '/transfer/to-self-hosted'] as const)(
    '409 cloud_not_linked: POST %s without a link',
    async (path) => {
      const admin = callsOn(instance, people.admin.token)(project)
      for (const body of [undefined, {}, { withData: true }]) {
        const answer = await admin('POST', path, body)
        expect([answer.status, answer.body.code]).toEqual([409, 'cloud_not_linked'])
      }
      expect((await admin('POST', path, { withData: 'yes' })).body.field).toBe('withData')
      expect((await callsOn(instance, people.member.token)(project)('POST', path)).body.permission).toBe('project:admin')
    },
  )
})
