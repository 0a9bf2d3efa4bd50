// gate: also on PostgreSQL, since two people adopt one service at once
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ReadContainer, ServerReader } from '../../src/drivers/runtime/server/server-reader.ts'
import { FileUnreadable } from '../../src/drivers/shell/ssh/server-files.ts'
import { ServerUnreachable, type UnreachableReason } from '../../src/drivers/shell/ssh/server-unreachable.ts'
import { aContainer, dockerWith, ofStack } from '../../src/modules/migration/test-container.ts'
import { type CallInput, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { InMemoryRuntime } from '../kit/memory-runtime.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'

/** The server's containers and files; set by each test. */
let containers: ReadContainer[] = []
let files: Record<string, string> = {}
let away: UnreachableReason | null = null
/** Called and awaited when the server is being read. */
let whileReading: () => Promise<unknown> = async () => {}

const reader: ServerReader = {
  ping: async () => ({ version: '20.10' }),
  async readDocker() {
    if (away) throw new ServerUnreachable(away, `away: ${away}`)
    await whileReading()
    return dockerWith(...containers)
  },
  files: {
    read: async (path: string) => {
      const text = files[path]
      if (text === undefined) throw new FileUnreadable('missing', `${path} is not there`)
      return Buffer.from(text)
    },
  } as Partial<ServerReader['files']> as ServerReader['files'],
}

let instance: TestInstance
let people: People
let others: People
let serverId: string
beforeAll(async () => {
  instance = await startInstance({}, { serverReader: () => reader })
  ;[people, others] = [await makePeople(instance), await makePeople(instance)]
})
afterAll(() => instance?.stop())
beforeEach(async () => {
  ;[containers, files, away, whileReading] = [[shopWeb, shopDb].map(anew), {}, null, async () => {}]
  const { body } = await call(instance, people.admin.token, 'POST /servers', { body: { name: 'Box', host: '203.0.113.9' } })
  serverId = body.data.id
})

/** Containers of one organisation have distinct ids, whichever server they are on. */
const anew = (container: ReadContainer): ReadContainer => ({ ...container, id: randomUUID() })
const shopWeb = aContainer('shop-web-1', {
  labels: ofStack('shop', 'web', { 'com.docker.compose.depends_on': 'db:service_started:false' }),
  env: ['PASSWORD=canary-of-web'],
  ports: [{ containerPort: 3000, hostPort: 80, hostIp: null, protocol: 'tcp' }],
})
const shopDb = aContainer('shop-db-1', {
  labels: ofStack('shop', 'db'),
  env: ['PASSWORD=canary-of-db'],
  mounts: [{ type: 'volume', source: 'shop_data', target: '/data', readOnly: false }],
})

const as = (token: string) => ({
  scan: (body: object, more: CallInput = {}) => call(instance, token, 'POST /migration/scan', { body, ...more }),
  adopt: (body: object, more: CallInput = {}) => call(instance, token, 'POST /migration/adopt', { body, ...more }),
})
const admin = () => as(people.admin.token)
const adoption = (more: object = {}) => ({ serverId, projectName: 'Shop', serviceNames: ['web', 'db'], ...more })
const projectsNow = async (): Promise<{ config: { serverId: string | null } }[]> =>
  (await call(instance, people.owner.token, 'GET /projects', { query: { limit: '100' } })).body.data
const projectsThere = async () => (await projectsNow()).filter((project) => project.config.serverId === serverId)

describe('POST /migration/scan', () => {
  test('returns success and the stack, with masked values', async () => {
    files = { '/srv/shop/compose.yaml': 'services: { web: { image: "web:2", ports: ["80:3000"] }, db: { image: "web:1" } }' }
    const { status, body } = await admin().scan({ serverId })
    expect([status, body.success]).toEqual([200, true])
    expect(body.stack.composeProjects).toMatchObject([
      { name: 'shop', fileState: 'drifted', services: [{ drift: ['image'] }, {}] },
    ])
    expect(JSON.stringify(body)).not.toContain('canary')
    expect(await projectsThere()).toEqual([])
  })

  test.each<[UnreachableReason, number]>([
    ['unreachable', 502],
    ['host_key_changed', 502],
    ['login_refused', 502],
    ['docker_not_running', 502],
    ['docker_denied', 502],
    ['address_refused', 403],
  ])('a server that is away is told with its reason: %s', async (reason, status) => {
    away = reason
    for (const answer of [await admin().scan({ serverId }), await admin().adopt(adoption())])
      expect([answer.status, answer.body.error]).toEqual([status, `away: ${reason}`])
  })
})

describe('both routes', () => {
  test('400 names the missing field', async () => {
    expect((await admin().scan({})).body).toMatchObject({ field: 'serverId' })
    const wrong: [string, object][] = [
      ['serverId', { serverId: undefined }],
      ['projectName', { projectName: '' }],
      ['projectName', { projectName: undefined }],
      ['serviceNames', { serviceNames: [] }],
      ['serviceNames', { serviceNames: undefined }],
      ['serviceNames.1', { serviceNames: ['web', 'nothing'] }],
    ]
    for (const [field, more] of wrong) {
      const { status, body } = await admin().adopt(adoption(more))
      expect([status, body.field]).toEqual([400, field])
    }
    expect(await projectsThere()).toEqual([])
  })

  test('403 without server:write: a member, and a token that is limited to projects', async () => {
    const limited = await makeToken(instance, people.owner, { projectIds: ['prj_x'] })
    for (const token of [people.member.token, people.viewer.token, limited]) {
      expect((await as(token).scan({ serverId })).status).toBe(403)
      expect((await as(token).adopt(adoption())).status).toBe(403)
    }
  })

  test('404 for an unknown server or one of another organisation', async () => {
    expect((await admin().scan({ serverId: 'srv_unknown' })).status).toBe(404)
    expect((await as(others.owner.token).scan({ serverId })).status).toBe(404)
    expect((await as(others.owner.token).adopt(adoption())).status).toBe(404)
  })

  test('403: a container that mounts a system path of the server, except for operators; the message names the path', async () => {
    const there = async (token: string) =>
      (await call(instance, token, 'POST /servers', { body: { name: 'Box', host: '203.0.113.9' } })).body.data.id as string
    containers = [anew({ ...shopDb, mounts: [{ type: 'bind', source: '/etc/cron.d', target: '/jobs', readOnly: false }] })]
    const theirs = { ...adoption({ serviceNames: ['db'] }), serverId: await there(others.owner.token) }
    for (const query of [{ plan: true }, { plan: false }])
      expect(await as(others.owner.token).adopt(theirs, { query })).toMatchObject({
        status: 403,
        body: { code: 'forbidden', error: expect.stringContaining('/etc/cron.d') },
      })
    const scanned = await as(others.owner.token).scan({ serverId: theirs.serverId })
    expect(scanned.body.stack.composeProjects[0].services).toMatchObject([{ adoptable: false }])
    const { status, body } = await admin().adopt(adoption({ serviceNames: ['db'] }))
    expect(status).toBe(201)
    expect(body.warnings).toContainEqual(expect.stringMatching(/^\/etc\/cron\.d is a system folder of the server/))
  })

  test('404 in cloud mode, for every caller', async () => {
    const cloud = await startInstance({ BERTH_MODE: 'cloud', BERTH_PUBLIC_URL: 'https://cloud.example.test' })
    try {
      const { owner } = await makePeople(cloud)
      expect((await call(cloud, owner.token, 'POST /migration/scan', { body: { serverId } })).status).toBe(404)
      expect((await call(cloud, owner.token, 'POST /migration/adopt', { body: adoption() })).status).toBe(404)
    } finally {
      await cloud.stop()
    }
  })
})

describe('POST /migration/adopt', () => {
  test('201: a services project on that server; variables are its secrets, volumes keep their names; nothing is deployed', async () => {
    const { status, body } = await admin().adopt(adoption())
    expect(status).toBe(201)
    expect(body).toMatchObject({
      success: true,
      project: { name: 'Shop', config: { serverId } },
      renamed: {},
      adopted: [{ name: 'web' }, { name: 'db' }],
    })
    expect(JSON.stringify(body)).not.toContain('canary')
    const env = await call(instance, people.owner.token, 'GET /projects/:id/env', { params: { id: body.project.id } })
    expect(env.body.data).toMatchObject([
      { key: 'DB_PASSWORD', isSecret: true },
      { key: 'WEB_PASSWORD', isSecret: true },
    ])
    expect(JSON.stringify(env.body)).not.toContain('canary')
    const volumes = await instance.database.db
      .selectFrom('volumes')
      .selectAll()
      .where('projectId', '=', body.project.id)
      .execute()
    expect(volumes).toMatchObject([{ name: 'shop_data', serverId, adopted: '{"volume":"shop_data"}' }])
  })

  test('an adopted service is shown as adopted, and a second adoption is 400; deleting the project releases it', async () => {
    const { body } = await admin().adopt(adoption())
    const again = await admin().adopt(adoption({ projectName: 'Again' }))
    expect([again.status, again.body.field]).toEqual([400, 'serviceNames.0'])
    const shown = async () => (await admin().scan({ serverId })).body.stack.summary.adoptable
    expect(await shown()).toBe(0)
    await instance.database.db.deleteFrom('projects').where('id', '=', body.project.id).execute()
    expect(await shown()).toBe(2)
  })

  test.each(['one server', 'two names of one machine'])(
    '409: one of two concurrent adoptions of a service through %s fails and leaves nothing',
    async (through) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      let begun = 0
      whileReading = () => {
        begun += 1
        if (begun === 2) resolve()
        return promise
      }
      const twin = await call(instance, people.admin.token, 'POST /servers', { body: { name: 'Twin', host: '203.0.113.9' } })
      const others = { projectName: 'Other', serverId: through === 'one server' ? serverId : twin.body.data.id }
      const both = [admin().adopt(adoption()), admin().adopt(adoption(others))]
      const before = await projectsNow()
      expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([201, 409])
      expect(await projectsNow()).toHaveLength(before.length + 1)
    },
  )

  test('a machine added as two servers: a service adopted through one is shown as adopted by the other, which cannot adopt it', async () => {
    await admin().adopt(adoption())
    const { body } = await call(instance, people.admin.token, 'POST /servers', { body: { name: 'Twin', host: '203.0.113.9' } })
    const twin = { serverId: body.data.id }
    expect((await admin().scan(twin)).body.stack.summary.adoptable).toBe(0)
    const again = await admin().adopt(adoption(twin))
    expect([again.status, again.body.field]).toEqual([400, 'serviceNames.0'])
  })

  test('deleting a project that never served starts the containers that were stopped for it, and the preview names all of them', async () => {
    const runtime = new InMemoryRuntime()
    instance.drivers.servers.set(serverId, runtime)
    const { body } = await admin().adopt(adoption())
    const before = JSON.stringify({ isRunning: true, restart: { name: 'always', retries: 0 } })
    const stopped = containers.find(({ name }) => name === 'shop-db-1')?.id as string
    const rows = instance.database.db.updateTable('adoptedContainers').where('containerId', '=', stopped)
    await rows.set({ state: 'stopped', before }).execute()
    const params = { id: body.project.id }
    const preview = await call(instance, people.owner.token, 'GET /projects/:id/deletion-preview', { params })
    expect(preview.body.data.items.filter(({ kind }: { kind: string }) => kind === 'container')).toMatchObject([
      { name: 'shop-db-1', kept: true },
      { name: 'shop-web-1', kept: true },
    ])
    expect((await call(instance, people.owner.token, 'DELETE /projects/:id', { params })).status).toBe(200)
    expect(runtime.rolledBackTakeovers).toEqual([stopped])
  })

  test('deleting an adopted project with its volumes lists the volumes of the server as kept', async () => {
    const runtime = new InMemoryRuntime()
    instance.drivers.servers.set(serverId, runtime)
    const { body } = await admin().adopt(adoption())
    const params = { id: body.project.id }
    const query = { deleteVolumes: 'true' }
    const volumesIn = (items: { kind: string; name: string }[]) => items.filter(({ kind }) => kind === 'volume')
    const report = await call(instance, people.owner.token, 'DELETE /projects/:id', { params, query })
    expect(report.status).toBe(200)
    expect(volumesIn(report.body.data.removed)).toEqual([])
    const kept = volumesIn(report.body.data.kept)
    expect(kept).toMatchObject([{ kept: true, reason: expect.stringContaining('shop_data') }])
  })

  test.each<[string, () => void]>([
    [
      'the engine describes a service that cannot be recorded',
      () => (containers = [anew(aContainer('odd', { command: ['\ud800'] }))]),
    ],
    ['an unexpected error', () => (whileReading = () => Promise.reject(new Error('canary of the cause')))],
  ])('502 adoption_failed with the reason: %s', async (_, arrange) => {
    arrange()
    const { status, body } = await admin().adopt(adoption({ serviceNames: ['odd'] }))
    expect([status, body.code]).toEqual([502, 'adoption_failed'])
    expect(body.error).toMatch(/^The services could not be adopted: ./)
    expect(JSON.stringify(body)).not.toContain('canary')
    expect(await projectsThere()).toEqual([])
  })

  test('plan=true stores nothing and returns what a deployment would do', async () => {
    const { status, body } = await admin().adopt(adoption(), { query: { plan: 'true' } })
    expect([status, body.project]).toEqual([200, null])
    expect(body.plan.join('\n')).toContain('Stop the container shop-db-1')
    expect(await projectsThere()).toEqual([])
  })
})
