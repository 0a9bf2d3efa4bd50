// gate: also on PostgreSQL, since twenty requests ask for one slug
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { secretMask } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/platform/db/ids.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
let folders: string
beforeAll(async () => {
  folders = mkdtempSync(join(tmpdir(), 'berth-folders-'))
  mkdirSync(join(folders, 'roots', 'shop'), { recursive: true })
  mkdirSync(join(folders, 'outside'))
  symlinkSync(join(folders, 'outside'), join(folders, 'roots', 'way-out'))
  symlinkSync(join(folders, 'roots', 'shop'), join(folders, 'roots', 'way-in'))
  instance = await startInstance({ BERTH_PROJECT_ROOTS: join(folders, 'roots') })
  people = await makePeople(instance)
})
afterAll(async () => {
  await instance.stop()
  rmSync(folders, { recursive: true, force: true })
})

const create = (body: object, token = people.member.token) => call(instance, token, 'POST /projects', { body })

describe('POST /projects', () => {
  test('400 names the allowed form', async () => {
    const { body } = await create({ name: 'Shop', slug: 'My Shop' })
    expect(body.error).toBe('slug: must be lower-case letters, digits and inner hyphens, such as my-shop')
  })

  test('201: only `name` is required; all other fields have defaults', async () => {
    const { status, body } = await create({ name: '  My Shop  ' })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({
      organizationId: people.organizationId,
      name: 'My Shop',
      slug: 'my-shop',
      type: 'app',
      location: 'local',
      status: 'created',
      enabled: true,
      source: { kind: 'none', provider: null, owner: null, repo: null, branch: null, url: null, path: null, commit: null },
      config: { port: 3000, rollbackWindow: 5, volumes: [], services: [], framework: null, healthCheck: null },
    })
    expect(body.data.id).toMatch(/^prj_[a-z2-7]{20}$/)
    expect(body.data.createdAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
  })

  test('a created project is read back unchanged, and the audit log names it', async () => {
    const project = await makeProject(instance, people.member.token)
    const read = await call(instance, people.viewer.token, 'GET /projects/:id', { params: { id: project.id } })
    expect([read.status, read.body.data]).toEqual([200, project])
    const log = await call(instance, people.owner.token, 'GET /audit-log', { query: { objectId: project.id } })
    expect(log.body.data).toMatchObject([{ action: 'POST /projects', objectKind: 'project', userId: people.member.userId }])
  })

  test('every field of the create body is kept', async () => {
    const fields = {
      framework: 'nextjs',
      packageManager: 'pnpm',
      installCommand: 'pnpm i',
      buildCommand: 'pnpm build',
      startCommand: '',
      outputDirectory: 'out',
      rootDirectory: 'apps/web',
      dockerfilePath: 'docker/Dockerfile',
      composePath: 'compose.yml',
      buildImage: 'node:24',
      port: 8080,
      healthCheck: { path: '/up', timeoutSeconds: 30, intervalSeconds: 2 },
      volumes: [{ name: 'data', mountPath: '/data' }],
      autoDeploy: false,
      previews: true,
      rollbackWindow: 0,
      services: [{ name: 'db', image: 'postgres:17', ports: [5432], environment: { A: 'b' }, dependsOn: [] }],
    }
    const { body } = await create({ name: 'All', slug: 'all-of-it', type: 'services', ...fields })
    const services = [{ ...fields.services[0], environment: { A: secretMask } }]
    expect(body.data).toMatchObject({ slug: 'all-of-it', type: 'services', config: { ...fields, services } })
  })

  test.each([
    ['name', {}],
    ['name', { name: '' }],
    ['name', { name: '   ' }],
    ['name', { name: 'x'.repeat(101) }],
    ['name', { name: 7 }],
    ['slug', { name: 'x', slug: 'Not A Slug' }],
    ['slug', { name: 'x', slug: '-x' }],
    ['gitProvider', { name: 'x', gitProvider: 'svn' }],
    ['gitOwner', { name: 'x', gitOwner: '../..' }],
    ['gitRepo', { name: 'x', gitRepo: '-x' }],
    ['gitBranch', { name: 'x', gitBranch: '--upload-pack=x' }],
    ['rootDirectory', { name: 'x', rootDirectory: '../x' }],
    ['outputDirectory', { name: 'x', outputDirectory: '/x' }],
    ['port', { name: 'x', port: 0 }],
    ['port', { name: 'x', port: '80' }],
    ['rollbackWindow', { name: 'x', rollbackWindow: 21 }],
    ['healthCheck.timeoutSeconds', { name: 'x', healthCheck: { timeoutSeconds: 601 } }],
    [
      'volumes.1.name',
      {
        name: 'x',
        volumes: [
          { name: 'a-b', mountPath: '/a' },
          { name: 'a_b', mountPath: '/b' },
        ],
      },
    ],
    [
      'volumes.1.mountPath',
      {
        name: 'x',
        volumes: [
          { name: 'a', mountPath: '/a' },
          { name: 'b', mountPath: '/./a/' },
        ],
      },
    ],
    ...['/a/../etc', '/./', '//', '/proc', '/proc//1', '/sys/', '/dev/shm', '/a\nb', `/${'a'.repeat(300)}`].map(
      (mountPath): [string, object] => ['volumes.0.mountPath', { name: 'x', volumes: [{ name: 'a', mountPath }] }],
    ),
    ['services.1.name', { name: 'x', services: [{ name: 'a' }, { name: 'a' }] }],
    ['services.0.dependsOn', { name: 'x', services: [{ name: 'a', dependsOn: ['b'] }] }],
    ['buildCommand', { name: 'x', buildCommand: 'a\0b' }],
    ['name', { name: 'half \ud800 a pair' }],
    ['serverId', { name: 'x', serverId: 'srv_nowhere' }],
  ])('400 names the offending field: %s of %j', async (field, body) => {
    const answer = await create(body)
    expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, 'validation_failed', field])
  })

  test('a service cannot mount a path outside the project', async () => {
    for (const mount of [
      { type: 'bind', source: '/var/run/docker.sock', target: '/s' },
      { type: 'bind', source: '../other', target: '/s' },
      { type: 'bind', source: 'a/../../other', target: '/s' },
      { type: 'bind', source: '~/.ssh', target: '/s' },
      { type: 'bind', target: '/s' },
      { type: 'volume', source: '/etc', target: '/s' },
    ]) {
      const { status, body } = await create({ name: 'x', services: [{ name: 'a', volumes: [mount] }] })
      expect([status, body.field]).toEqual([400, 'services.0.volumes.0.source'])
    }
    const inside = { name: 'a', volumes: [{ type: 'bind', source: './data', target: '/data' }] }
    expect((await create({ name: 'x', services: [inside] })).status).toBe(201)
  })

  test('403: a viewer, and a token limited to projects', async () => {
    expect((await create({ name: 'x' }, people.viewer.token)).body.permission).toBe('project:write')
    const limited = await makeToken(instance, people.owner, { projectIds: ['prj_x'] })
    expect((await create({ name: 'x' }, limited)).status).toBe(403)
  })
})

describe('the slug', () => {
  test('is generated from the name and unique across organisations', async () => {
    const other = await makePeople(instance)
    const slugs = []
    for (const token of [people.member.token, other.member.token, people.member.token])
      slugs.push((await create({ name: 'Ünïque — Näme!' }, token)).body.data.slug)
    expect(slugs).toEqual(['unique-name', 'unique-name-2', 'unique-name-3'])
  })

  test('differs for many projects created at once with one name', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'Rush' })))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    const slugs = new Set(answers.map(({ body }) => body.data.slug))
    expect(slugs.size).toBe(20)
    expect(slugs).toContain('rush')
    for (const slug of slugs) expect(slug).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
  })

  test('is a default for a name without a usable character', async () => {
    expect((await create({ name: '日本' })).body.data.slug).toMatch(/^project(-\w+)?$/)
  })

  test('409 slug_taken: a given slug that is in use; one of two concurrent requests wins', async () => {
    const both = await Promise.all([create({ name: 'a', slug: 'the-one' }), create({ name: 'b', slug: 'the-one' })])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
    expect(both.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'slug_taken', field: 'slug' })
  })

  test('cannot give the host name of the instance itself', async () => {
    const named = await startInstance({ BERTH_PUBLIC_URL: 'https://berth.example.com', BERTH_BASE_DOMAIN: 'example.com' })
    const { owner } = await makePeople(named)
    const given = await call(named, owner.token, 'POST /projects', { body: { name: 'x', slug: 'berth' } })
    expect([given.status, given.body.code]).toEqual([409, 'slug_taken'])
    expect((await makeProject(named, owner.token, { name: 'Berth' })).slug).toBe('berth-2')
    await named.stop()
  })
})

describe('the source', () => {
  const sourceOf = async (body: object) => (await create({ name: 'Source', ...body })).body.data?.source

  test('can be a repository of a git host', async () => {
    expect(await sourceOf({ gitOwner: 'acme', gitRepo: 'shop', gitBranch: 'main' })).toEqual({
      kind: 'git',
      provider: 'github',
      owner: 'acme',
      repo: 'shop',
      branch: 'main',
      url: 'https://github.com/acme/shop.git',
      path: null,
      commit: null,
    })
  })

  test('can be any https or ssh remote, which also gives owner and repository', async () => {
    expect(await sourceOf({ gitUrl: 'https://git.example.com/acme/shop.git' })).toMatchObject({
      kind: 'git',
      provider: 'git',
      owner: 'acme',
      repo: 'shop',
      url: 'https://git.example.com/acme/shop.git',
    })
    expect(await sourceOf({ gitUrl: 'git@gitlab.com:group/sub/shop.git' })).toMatchObject({
      provider: 'gitlab',
      owner: 'group/sub',
      repo: 'shop',
    })
    expect(await sourceOf({ gitUrl: 'ssh://git@git.example.com:2222/srv/git/shop.git' })).toMatchObject({ kind: 'git' })
  })

  test.each([
    'ftp://example.com/x.git',
    'file:///etc',
    'https://user:password@example.com/x.git',
    'https://token@example.com/x.git',
    'http://example.com/x.git',
    'ext::sh -c x',
    '-oProxyCommand=x',
    'ssh://-oProxyCommand=x/y',
    '/srv/git/x',
  ])('400: %s is not a remote', async (gitUrl) => {
    const { status, body } = await create({ name: 'x', gitUrl })
    expect([status, body.field]).toEqual([400, 'gitUrl'])
    expect(JSON.stringify(body)).not.toContain('password@')
  })

  test('the value `upload` marks a folder-upload project', async () => {
    expect(await sourceOf({ gitProvider: 'upload' })).toMatchObject({ kind: 'upload', provider: 'upload' })
  })

  test('can be services that run images', async () => {
    expect(await sourceOf({ type: 'services', services: [{ name: 'db', image: 'postgres:17' }] })).toMatchObject({
      kind: 'image',
    })
  })

  test('400: two kinds of source without the kind', async () => {
    const localPath = join(folders, 'roots', 'shop')
    const { status, body } = await create({ name: 'x', gitUrl: 'https://git.example.com/a/b', localPath }, people.admin.token)
    expect([status, body.field]).toEqual([400, 'gitProvider'])
  })

  test('can be a local folder below the allowed roots, by its real path', async () => {
    const createLocal = (localPath: string) => create({ name: 'x', localPath }, people.admin.token)
    const local = (await createLocal(join(folders, 'roots', 'way-in'))).body.data.source
    expect(local).toMatchObject({ kind: 'local', provider: 'local', path: join(folders, 'roots', 'shop') })
    for (const path of ['outside', 'roots', 'roots/way-out', 'roots/missing', 'roots/../outside']) {
      const { status, body } = await createLocal(join(folders, path))
      expect([path, status, body.field]).toEqual([path, 400, 'localPath'])
    }
    expect((await createLocal('shop')).body.field).toBe('localPath')
  })

  test('cannot be a local folder or a loopback address in cloud mode', async () => {
    const cloud = await startInstance({ BERTH_MODE: 'cloud', BERTH_PROJECT_ROOTS: join(folders, 'roots') })
    const { owner } = await makePeople(cloud)
    for (const [field, value] of [
      ['localPath', join(folders, 'roots', 'shop')],
      ['gitUrl', 'http://127.0.0.1:4000/a/b.git'],
    ]) {
      const { status, body } = await call(cloud, owner.token, 'POST /projects', { body: { name: 'x', [field!]: value } })
      expect([status, body.field]).toEqual([400, field])
    }
    await cloud.stop()
  })

  describe('an upload', () => {
    const insertUpload = async (changes: object = {}) => {
      const now = Date.now()
      const row = {
        id: newId('upl'),
        organizationId: people.organizationId,
        createdBy: people.owner.userId,
        hints: '{}',
        status: 'received' as const,
        sizeBytes: 10,
        files: 1,
        expiresAt: now + 60_000,
        createdAt: now,
        ...changes,
      }
      await instance.database.db.insertInto('uploadSessions').values(row).execute()
      return row.id
    }
    const expiryOf = async (id: string) => {
      const found = instance.database.db.selectFrom('uploadSessions').select('expiresAt').where('id', '=', id)
      return (await found.executeTakeFirstOrThrow()).expiresAt
    }

    test('that was received becomes the source, and does not expire while a project uses it', async () => {
      const first = await insertUpload()
      const project = await makeProject(instance, people.member.token, { uploadSessionId: first })
      expect(project.source).toMatchObject({ kind: 'upload', provider: 'upload' })
      expect(await expiryOf(first)).toBeGreaterThan(Date.now() + 86_400_000 * 365)

      const second = await insertUpload()
      const { status } = await callsOn(instance, people.member.token)(project)('PATCH', '', { uploadSessionId: second })
      expect(status).toBe(200)
      expect(await expiryOf(first)).toBeLessThanOrEqual(Date.now())
      expect(await expiryOf(second)).toBeGreaterThan(Date.now() + 86_400_000 * 365)
    })

    test('404: an expired or unknown session, or one of another organisation; 409: nothing was uploaded yet', async () => {
      const other = await makePeople(instance)
      const ids = [
        await insertUpload({ expiresAt: Date.now() - 1 }),
        await insertUpload({ organizationId: other.organizationId }),
        'upl_nowhere',
      ]
      for (const uploadSessionId of ids) {
        const { status, body } = await create({ name: 'x', uploadSessionId })
        expect([status, body.field]).toEqual([404, 'uploadSessionId'])
      }
      const open = await create({ name: 'x', uploadSessionId: await insertUpload({ status: 'open' }) })
      expect([open.status, open.body.field]).toEqual([409, 'uploadSessionId'])
    })
  })
})
