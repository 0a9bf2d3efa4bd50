// gate: also on PostgreSQL, since changes of different settings meet
import { secretMask } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createScrubber } from '../../src/platform/secrets/scrubber.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

const scrubber = createScrubber()
let instance: TestInstance
let people: People
let project: { id: string; slug: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  instance = await startInstance({}, { scrubber })
  people = await makePeople(instance)
})
beforeEach(async () => {
  project = await makeProject(instance, people.admin.token)
  on = callsOn(instance, people.admin.token)(project)
})
afterAll(() => instance.stop())

const configNow = async () => (await on('GET', '')).body.data.config

describe('resources', () => {
  const whole = {
    production: { cpuCores: 1, memoryMb: 512, diskMb: 4096 },
    build: { cpuCores: 2, memoryMb: 2048, diskMb: 10240 },
  }

  test('have defaults, which the record shows', async () => {
    const { status, body } = await on('GET', '/resources')
    expect([status, body.data]).toEqual([200, { ...whole, sleepMode: 'always_on', port: 3000 }])
    expect((await configNow()).resources).toEqual(whole)
  })

  test.each(['PATCH', 'POST'] as const)('%s merges: an omitted amount stays', async (method) => {
    await on(method, '/resources', { production: { cpuCores: 4 }, port: 8080 })
    const { status, body } = await on(method, '/resources', {
      production: { memoryMb: 64 },
      build: { diskMb: 204_800 },
      sleepMode: 'auto_sleep',
    })
    expect(status).toBe(200)
    expect(body.data).toEqual({
      production: { cpuCores: 4, memoryMb: 64, diskMb: 4096 },
      build: { cpuCores: 2, memoryMb: 2048, diskMb: 204_800 },
      sleepMode: 'auto_sleep',
      port: 8080,
    })
    expect((await on('GET', '/resources')).body).toEqual(body)
  })

  test('memory and disk may be fractions; the record shows the whole MB that apply', async () => {
    const body = { production: { memoryMb: 300.5, diskMb: 64.1 }, build: { memoryMb: 65_535.2, cpuCores: 1.5 } }
    expect((await on('PATCH', '/resources', body)).status).toBe(200)
    expect((await on('GET', '/resources')).body.data).toMatchObject({
      production: { cpuCores: 1, memoryMb: 301, diskMb: 65 },
      build: { cpuCores: 1.5, memoryMb: 65_536, diskMb: 10_240 },
    })
  })

  test('all fields are optional', async () => {
    const before = (await on('GET', '/resources')).body
    expect((await on('PATCH', '/resources', {})).body).toEqual(before)
  })

  test.each([
    ['production.cpuCores', { production: { cpuCores: 4.1 } }],
    ['production.cpuCores', { production: { cpuCores: 0.05 } }],
    ['production.memoryMb', { production: { memoryMb: 63 } }],
    ['production.memoryMb', { production: { memoryMb: 65_537 } }],
    ['build.cpuCores', { build: { cpuCores: 5 } }],
    ['build.diskMb', { build: { diskMb: 204_801 } }],
    ['build.memoryMb', { build: { memoryMb: '512' } }],
    ['sleepMode', { sleepMode: 'never' }],
    ['port', { port: 65_536 }],
  ])('400 names %s', async (field, body) => {
    const before = (await on('GET', '/resources')).body
    const answer = await on('PATCH', '/resources', body)
    expect([answer.status, answer.body.field]).toEqual([400, field])
    expect((await on('GET', '/resources')).body).toEqual(before)
  })

  test('two concurrent changes of different fields are both kept', async () => {
    await Promise.all([
      on('PATCH', '/resources', { production: { cpuCores: 3 } }),
      on('PATCH', '/resources', { production: { memoryMb: 1024 } }),
    ])
    expect((await on('GET', '/resources')).body.data.production).toMatchObject({ cpuCores: 3, memoryMb: 1024 })
  })
})

describe('each setting', () => {
  test('POST /sleep-mode', async () => {
    const { status, body } = await on('POST', '/sleep-mode', { sleepMode: 'auto_sleep' })
    expect([status, body.data.config.sleepMode]).toEqual([200, 'auto_sleep'])
    for (const sleepMode of ['never', null, undefined])
      expect((await on('POST', '/sleep-mode', { sleepMode })).body.field).toBe('sleepMode')
  })

  test('POST /auto-deploy', async () => {
    for (const enabled of [false, true])
      expect((await on('POST', '/auto-deploy', { enabled })).body.data.config.autoDeploy).toBe(enabled)
    for (const enabled of ['true', 1, null, undefined]) {
      const { status, body } = await on('POST', '/auto-deploy', { enabled })
      expect([status, body.field]).toEqual([400, 'enabled'])
    }
  })

  test('POST /branch', async () => {
    await on('PATCH', '', { gitOwner: 'a', gitRepo: 'b' })
    const { status, body } = await on('POST', '/branch', { branch: 'release/1.x' })
    expect([status, body.data.source.branch]).toEqual([200, 'release/1.x'])
    for (const branch of ['', '-x', 'a..b', 'a b', 'a~1', null])
      expect((await on('POST', '/branch', { branch })).body.field).toBe('branch')
  })

  test('POST /options sets build and deploy options, and nothing else', async () => {
    const { status, body } = await on('POST', '/options', {
      buildCommand: 'make',
      type: 'static',
      sleepMode: 'auto_sleep',
      rollbackWindow: 3,
      name: 'Other',
    })
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      name: 'Shop',
      type: 'static',
      config: { buildCommand: 'make', sleepMode: 'auto_sleep', rollbackWindow: 3 },
    })
    expect((await on('POST', '/options', { port: 0 })).body.field).toBe('port')
  })

  test('POST /webhook-domain takes one of the project’s own domains, or null', async () => {
    await on('POST', '/connect', { domain: 'hooks.example.test' })
    const set = (domain: unknown) => on('POST', '/webhook-domain', { domain })
    expect((await set('HOOKS.example.test')).body.data.config.webhookDomain).toBe('hooks.example.test')
    expect((await set(`${project.slug}.localhost`)).body.data.config.webhookDomain).toBe(`${project.slug}.localhost`)
    for (const domain of ['other.example.test', 'hooks.localhost', 'not a host', 7, undefined]) {
      const { status, body } = await set(domain)
      expect([status, body.field]).toEqual([400, 'domain'])
    }
    const renamed = await on('PATCH', '', { slug: `new-${project.slug}` })
    expect(renamed.body.data.config.webhookDomain).toBe(`new-${project.slug}.localhost`)
    expect((await set(null)).body.data.config.webhookDomain).toBeNull()
  })

  test.each([
    ['/sleep-mode', { sleepMode: 'auto_sleep' }],
    ['/auto-deploy', { enabled: true }],
    ['/branch', { branch: 'main' }],
    ['/options', { port: 80 }],
    ['/webhook-domain', { domain: null }],
    ['/resources', { port: 80 }],
    ['/connect', { domain: 'x.example.test' }],
    ['/enable', undefined],
    ['/disable', undefined],
    ['/routing/retry', undefined],
  ] as const)('403 for a viewer, 404 for a user of another organisation: POST %s', async (path, body) => {
    const outsider = await makePeople(instance)
    expect((await callsOn(instance, people.viewer.token)(project)('POST', path, body)).status).toBe(403)
    expect((await callsOn(instance, outsider.owner.token)(project)('POST', path, body)).status).toBe(404)
  })
})

describe('the clone token', () => {
  const token = 'ghp_0123456789abcdefWXYZ'

  test('is shown as a mask with its last four characters, never completely', async () => {
    expect((await on('GET', '/clone-token')).body.data).toEqual({ hasToken: false, token: null, setAt: null })
    const { status, body } = await on('PATCH', '/clone-token', { token })
    expect(status).toBe(200)
    expect(body.data).toEqual({ hasToken: true, token: `${secretMask}WXYZ`, setAt: expect.stringMatching(/Z$/) })
    expect((await on('GET', '/clone-token')).body).toEqual(body)
    expect(scrubber.scrub(`clone ${token}`)).toBe('clone [secret]')
  })

  test('a short token is shown as the mask only', async () => {
    expect((await on('PATCH', '/clone-token', { token: 'abcd' })).body.data.token).toBe(secretMask)
  })

  test('is stored encrypted, and used only for git at its own host', async () => {
    await on('PATCH', '', { gitUrl: 'https://git.example.test/acme/shop.git' })
    await on('PATCH', '/clone-token', { token })
    const row = await instance.database.db
      .selectFrom('projects')
      .selectAll()
      .where('id', '=', project.id)
      .executeTakeFirstOrThrow()
    expect(row.cloneToken).toMatch(/^v1\./)
    const { credential } = await instance.projects.remoteOf(row)
    expect(credential?.token.reveal()).toBe(token)
    expect(await instance.projects.remoteOf(row, 'https://other.example.test/acme/shop.git')).not.toHaveProperty('credential')
  })

  test('sending back the mask changes nothing; another mask is refused; null deletes the token', async () => {
    const { body: before } = await on('PATCH', '/clone-token', { token })
    expect((await on('PATCH', '/clone-token', { token: `${secretMask}WXYZ` })).body).toEqual(before)
    expect((await on('PATCH', '/clone-token', { token: `${secretMask}ABCD` })).body.field).toBe('token')
    expect((await on('GET', '/clone-token')).body).toEqual(before)
    expect((await on('PATCH', '/clone-token', { token: null })).body.data).toEqual({ hasToken: false, token: null, setAt: null })
  })

  test.each([[{}], [{ token: '' }], [{ token: 7 }], [{ token: 'a\nhost=evil' }], [{ token: 'a\0' }]])('400: %j', async (body) => {
    const answer = await on('PATCH', '/clone-token', body)
    expect([answer.status, answer.body.field]).toEqual([400, 'token'])
  })

  test('setting requires project:admin, reading project:read', async () => {
    const asMember = callsOn(instance, people.member.token)(project)
    expect((await asMember('PATCH', '/clone-token', { token })).body.permission).toBe('project:admin')
    expect((await callsOn(instance, people.viewer.token)(project)('GET', '/clone-token')).status).toBe(200)
  })
})
