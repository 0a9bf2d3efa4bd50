// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateProject, type Project, ProjectOptions, ResourcesBody } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/platform/db/ids.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

/** Every field of the bodies below `/projects` has an effect that a read shows, or is rejected. */

let instance: TestInstance
let people: People
let folders: string
const uploads: string[] = []
beforeAll(async () => {
  folders = mkdtempSync(join(tmpdir(), 'berth-fields-'))
  mkdirSync(join(folders, 'shop'))
  instance = await startInstance({ BERTH_PROJECT_ROOTS: folders })
  people = await makePeople(instance)
  const now = Date.now()
  for (let count = 0; count < 3; count += 1) {
    uploads.push(newId('upl'))
    await instance.database.db
      .insertInto('uploadSessions')
      .values({
        ...{ id: uploads[count]!, organizationId: people.organizationId, createdBy: people.owner.userId, hints: '{}' },
        ...{ status: 'received', sizeBytes: 10, files: 1, expiresAt: now + 600_000, createdAt: now },
      })
      .execute()
  }
})
afterAll(async () => {
  await instance.stop()
  rmSync(folders, { recursive: true, force: true })
})

const create = (body: object) => call(instance, people.admin.token, 'POST /projects', { body: { name: 'Fields', ...body } })
const make = (body: object = {}) => makeProject(instance, people.admin.token, { name: 'Fields', ...body })
const on = (project: { id: string }) => callsOn(instance, people.admin.token)(project)

interface FieldCase {
  /** Other fields that this field requires. */
  with?: object
  /** A function if the value is known only once the instance runs. */
  value: unknown | (() => unknown)
  shown: (project: Project) => unknown
  /** The shown value, if it differs from the given one. */
  shows?: unknown
  /** The value if the field is null or absent. */
  automatic: unknown
  /** The value if the field is null after it had a value, if that differs. */
  afterwards?: unknown
  refused: unknown
}

const plain = (field: keyof Project['config'], value: unknown, automatic: unknown, refused: unknown): FieldCase => ({
  value,
  shown: ({ config }) => config[field],
  automatic,
  refused,
})
const ofSource = (field: keyof Project['source'], rest: Omit<FieldCase, 'shown'>): FieldCase => ({
  shown: ({ source }) => source[field],
  ...rest,
})
const defaults = {
  production: { cpuCores: 1, memoryMb: 512, diskMb: 4096 },
  build: { cpuCores: 2, memoryMb: 2048, diskMb: 10240 },
}

const fields: Record<Exclude<keyof CreateProject, 'name'>, FieldCase> = {
  slug: { value: 'fields-of-a-body', shown: ({ slug }) => slug, automatic: 'fields', refused: 'No Slug' },
  gitProvider: ofSource('kind', { value: 'upload', shows: 'upload', automatic: 'none', refused: 'svn' }),
  gitOwner: ofSource('owner', { with: { gitRepo: 'shop' }, value: 'acme', automatic: null, refused: '../..' }),
  gitRepo: ofSource('repo', { with: { gitOwner: 'acme' }, value: 'shop', automatic: null, refused: '-x' }),
  gitBranch: ofSource('branch', {
    with: { gitOwner: 'acme', gitRepo: 'shop' },
    value: 'release',
    automatic: null,
    refused: '--upload-pack=x',
  }),
  gitUrl: ofSource('url', { value: 'https://git.example.com/acme/shop.git', automatic: null, refused: 'ftp://x/y' }),
  localPath: ofSource('path', { value: () => join(folders, 'shop'), automatic: null, refused: '/nowhere' }),
  uploadSessionId: ofSource('kind', {
    value: () => uploads.pop(),
    shows: 'upload',
    automatic: 'none',
    afterwards: 'upload',
    refused: 7,
  }),
  framework: plain('framework', 'astro', null, 'banana'),
  packageManager: plain('packageManager', 'pnpm', null, 'apt'),
  installCommand: plain('installCommand', 'make deps', null, 'x'.repeat(501)),
  buildCommand: plain('buildCommand', 'make', null, 'x'.repeat(501)),
  startCommand: plain('startCommand', './run', null, 'x'.repeat(501)),
  outputDirectory: plain('outputDirectory', 'out', null, '/out'),
  rootDirectory: plain('rootDirectory', 'apps/web', null, '../x'),
  dockerfilePath: plain('dockerfilePath', 'docker/Dockerfile', null, '../x'),
  composeProfiles: plain('composeProfiles', ['debug'], null, ['two words']),
  composePath: plain('composePath', 'ops/compose.yml', null, '../x'),
  buildImage: plain('buildImage', 'node:24', null, 'x'.repeat(201)),
  buildArgs: plain('buildArgs', { NODE_VERSION: '24' }, null, { NODE_VERSION: 24 }),
  buildTarget: plain('buildTarget', 'web', null, 'a stage'),
  image: plain('image', 'nginx:1.27', null, `sha256:${'a'.repeat(64)}`),
  type: { value: 'static', shown: ({ type }) => type, automatic: 'app', refused: 'page' },
  port: plain('port', 8080, 3000, 0),
  healthCheck: plain('healthCheck', { path: '/up', timeoutSeconds: 30, intervalSeconds: 2 }, null, { timeoutSeconds: 601 }),
  volumes: plain('volumes', [{ name: 'data', mountPath: '/data' }], [], [{ name: 'data', mountPath: 'data' }]),
  services: plain('services', [{ name: 'db', image: 'postgres:17' }], [], [{ name: '-' }]),
  serviceRoutes: plain('serviceRoutes', { db: false }, null, { db: 'no' }),
  autoDeploy: plain('autoDeploy', false, true, '1'),
  previews: plain('previews', true, false, 'yes'),
  previewsMaximum: plain('previewsMaximum', 3, 10, 0),
  previewsMaxAgeDays: plain('previewsMaxAgeDays', 7, 30, 366),
  rollbackWindow: plain('rollbackWindow', 3, 5, 21),
  sleepMode: plain('sleepMode', 'auto_sleep', 'always_on', 'never'),
  resources: plain(
    'resources',
    { production: { cpuCores: 2, memoryMb: 256, diskMb: 100 }, build: { cpuCores: 1, memoryMb: 128, diskMb: 200 } },
    defaults,
    { production: { cpuCores: 5 } },
  ),
  serverId: plain('serverId', null, null, 'srv_nowhere'),
}
const names = Object.keys(fields) as (keyof typeof fields)[]
const valueFor = ({ value }: FieldCase) => (typeof value === 'function' ? value() : value)

describe('every field of the create body', () => {
  test('is a row of this table', () => {
    const { name: _, ...known } = CreateProject.properties
    expect(names.toSorted()).toEqual(Object.keys(known).toSorted())
  })

  test.each(names)('%s: has an effect on create and on update; null is automatic; any other value is refused', async (name) => {
    const field = fields[name]
    const body = { ...field.with, [name]: valueFor(field) }
    const wanted = field.shows ?? valueFor(field)
    const made = await make(body)
    expect(field.shown(made)).toEqual(wanted)
    const refused = await create({ ...field.with, [name]: field.refused })
    expect([refused.status, refused.body.field?.split('.')[0]]).toEqual([400, name])

    // A source that lacks only this field is incomplete: null is for fields that may be missing.
    if (['gitOwner', 'gitRepo'].includes(name)) return
    if (name !== 'slug') expect(field.shown(await make({ ...field.with, [name]: null }))).toEqual(automaticOf(name))
    await on(made)('DELETE', '')
    const later = await make(field.with)
    const changed = await on(later)('PATCH', '', { [name]: valueFor(field) })
    expect([changed.status, field.shown(changed.body.data)]).toEqual([200, wanted])
    const back = await on(later)('PATCH', '', { [name]: null })
    expect([back.status, name === 'slug' || field.shown(back.body.data)]).toEqual([
      200,
      name === 'slug' || (field.afterwards ?? automaticOf(name)),
    ])
    await on(later)('DELETE', '')
  })

  /** The age of previews has no automatic value: null means never. */
  const automaticOf = (name: keyof typeof fields) => (name === 'previewsMaxAgeDays' ? null : fields[name].automatic)

  test('a slug of null is generated from the name, on create and on update', async () => {
    const made = await make({ name: 'From the Name', slug: null })
    expect(made.slug).toBe('from-the-name')
    await on(made)('PATCH', '', { slug: 'another-one' })
    expect((await on(made)('PATCH', '', { slug: null })).body.data.slug).toBe('from-the-name')
    expect((await on(made)('PATCH', '', { slug: null, name: 'New Name' })).body.data.slug).toBe('new-name')
  })

  test('a port of null restores the detected one', async () => {
    const project = await make({ port: 8080 })
    const isChosen = async () =>
      (
        await instance.database.db
          .selectFrom('projects')
          .select('portChosen')
          .where('id', '=', project.id)
          .executeTakeFirstOrThrow()
      ).portChosen
    expect(await isChosen()).toBe(1)
    await on(project)('PATCH', '', { port: null })
    expect(await isChosen()).toBe(0)
    await on(project)('PATCH', '/resources', { port: 3000 })
    expect(await isChosen()).toBe(1)
    await on(project)('POST', '/options', { port: null })
    expect(await isChosen()).toBe(0)
  })
})

describe('every field of the options and of the resources', () => {
  const { options, resources } = {
    options: Object.keys(ProjectOptions.properties) as (keyof typeof fields)[],
    resources: Object.keys(ResourcesBody.properties),
  }

  test.each(options)('POST /options: %s', async (name) => {
    const project = await make()
    const field = fields[name]
    const { status, body } = await on(project)('POST', '/options', { [name]: valueFor(field) })
    expect([status, field.shown(body.data)]).toEqual([200, field.shows ?? valueFor(field)])
    expect((await on(project)('POST', '/options', { [name]: field.refused })).status).toBe(400)
  })

  test.each([
    [{ production: { cpuCores: 2 } }, { production: { ...defaults.production, cpuCores: 2 } }],
    [{ production: { memoryMb: 64 } }, { production: { ...defaults.production, memoryMb: 64 } }],
    [{ production: { diskMb: 64 } }, { production: { ...defaults.production, diskMb: 64 } }],
    [{ build: { cpuCores: 1, memoryMb: 64 } }, { build: { ...defaults.build, cpuCores: 1, memoryMb: 64 } }],
    [{ build: { diskMb: 100 } }, { build: { ...defaults.build, diskMb: 100 } }],
    [{ sleepMode: 'auto_sleep' }, { sleepMode: 'auto_sleep' }],
    [{ port: 8080 }, { port: 8080 }],
  ])('PATCH /resources %j', async (body, shown) => {
    expect(resources).toEqual(['production', 'build', 'sleepMode', 'port'])
    const project = await make()
    const standard = { ...defaults, sleepMode: 'always_on', port: 3000 }
    const expected = { ...standard, ...shown }
    expect((await on(project)('PATCH', '/resources', body)).body.data).toEqual(expected)
    // The same settings in another body.
    const { sleepMode = undefined, port = undefined, ...sides } = body as { sleepMode?: string; port?: number }
    const other = await make({ ...(sleepMode ? { sleepMode } : {}), ...(port ? { port } : {}), resources: sides })
    expect((await on(other)('GET', '/resources')).body.data).toEqual(expected)
    // Null, for an amount or for a side, is the default.
    const nulls = Object.fromEntries(
      Object.entries(body).map(([name, value]) => [
        name,
        typeof value === 'object' ? Object.fromEntries(Object.keys(value).map((amount) => [amount, null])) : null,
      ]),
    )
    expect((await on(project)('PATCH', '/resources', nulls)).body.data).toEqual(standard)
    const sideways = Object.fromEntries(Object.keys(body).map((name) => [name, null]))
    await on(project)('PATCH', '/resources', body)
    expect((await on(project)('PATCH', '/resources', sideways)).body.data).toEqual(standard)
  })
})

describe('an incomplete source is 400 and names the missing field', () => {
  const halves: [missing: string, body: object][] = [
    ['gitRepo', { gitOwner: 'acme' }],
    ['gitOwner', { gitRepo: 'shop' }],
    ['gitRepo', { gitProvider: 'gitlab', gitOwner: 'acme' }],
    ['gitRepo', { gitOwner: 'acme', gitRepo: null, gitBranch: 'main' }],
    ['gitOwner', { gitProvider: 'github' }],
    ['gitOwner', { gitProvider: 'gitea', gitBranch: 'main' }],
    ['gitOwner', { gitBranch: 'main' }],
    ['gitUrl', { gitProvider: 'git' }],
    ['gitUrl', { gitProvider: 'git', gitOwner: 'acme', gitRepo: 'shop' }],
    ['localPath', { gitProvider: 'local' }],
  ]
  const others: [field: string, body: object][] = [
    ['gitOwner', { gitProvider: 'upload', gitOwner: 'acme', gitRepo: 'shop' }],
    ['gitBranch', { gitProvider: 'upload', gitBranch: 'main' }],
  ]

  test.each([...halves, ...others])('%s of %j', async (field, body) => {
    const project = await make()
    const created = await create(body)
    const ensured = await call(instance, people.admin.token, 'POST /projects/ensure', { body: { name: 'x', ...body } })
    const updated = await on(project)('PATCH', '', body)
    const again = await call(instance, people.admin.token, 'POST /projects/ensure', {
      body: { name: 'x', projectId: project.id, ...body },
    })
    for (const answer of [created, ensured, updated, again])
      expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, 'validation_failed', field])
    expect((await on(project)('GET', '')).body.data).toEqual(project)
  })

  test('a completed or removed source is accepted', async () => {
    const project = await make({ gitOwner: 'acme', gitRepo: 'shop', gitBranch: 'main' })
    const source = async (body: object) => (await on(project)('PATCH', '', body)).body.data.source
    expect(await source({ gitRepo: 'other' })).toMatchObject({ owner: 'acme', repo: 'other' })
    expect(await source({ gitProvider: null })).toMatchObject({ kind: 'git', provider: 'github', owner: 'acme' })
    expect(await source({ gitProvider: null, gitOwner: 'a', gitRepo: 'b' })).toMatchObject({ provider: 'github', owner: 'a' })
    expect(await source({ gitOwner: null, gitRepo: null })).toMatchObject({ kind: 'none', provider: null, owner: null })
    expect(await source({ gitProvider: 'upload' })).toMatchObject({ kind: 'upload' })
    expect(await source({ gitProvider: null })).toMatchObject({ kind: 'none', provider: null })
  })
})

test('GET /frameworks lists the values of `framework`', async () => {
  const { status, body } = await call(instance, people.viewer.token, 'GET /frameworks')
  expect(status).toBe(200)
  const ids = body.data.map(({ id }: { id: string }) => id)
  expect(ids).toEqual(expect.arrayContaining(['nextjs', 'vite', 'django', 'dockerfile', 'static']))
  for (const framework of ids) expect((await make({ framework })).config.framework).toBe(framework)
})

test('deletion-preview and deletion list a folder of the machine without its path', async () => {
  const project = await make({ localPath: join(folders, 'shop') })
  const preview = await on(project)('GET', '/deletion-preview')
  const removed = await on(project)('DELETE', '')
  expect(preview.body.data.items).toContainEqual(expect.objectContaining({ kind: 'folder', name: 'shop', kept: true }))
  for (const { body } of [preview, removed]) expect(JSON.stringify(body)).not.toContain(folders)
})

test('`ensure` with a projectId of null creates a project', async () => {
  const { status, body } = await call(instance, people.admin.token, 'POST /projects/ensure', {
    body: { name: 'Ensured', projectId: null },
  })
  expect([status, body.data.name]).toEqual([201, 'Ensured'])
})
