// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'

let base: string
let instance: TestInstance
let people: People
beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'berth-local-')))
  for (const folder of ['root/shop', 'root/empty', 'root/mono/apps/web', 'outside/secret'])
    mkdirSync(join(base, folder), { recursive: true })
  const manifest = { name: 'shop', scripts: { start: 'node server.js' }, dependencies: { express: '^5.0.0' } }
  writeFileSync(join(base, 'root/shop/package.json'), JSON.stringify(manifest))
  writeFileSync(join(base, 'root/shop/package-lock.json'), '{"lockfileVersion":3}')
  writeFileSync(join(base, 'root/shop/server.js'), 'app.listen(process.env.PORT || 3000)')
  writeFileSync(join(base, 'root/mono/apps/web/index.html'), '<h1>hello</h1>')
  symlinkSync(join(base, 'outside/secret'), join(base, 'root/link-out'))
  symlinkSync(join(base, 'root/shop'), join(base, 'root/link-in'))
  instance = await startInstance({ BERTH_PROJECT_ROOTS: join(base, 'root') })
  people = await makePeople(instance)
})
afterAll(async () => {
  await instance.stop()
  rmSync(base, { recursive: true, force: true })
})

const at = (path: string) => join(base, path)
const post = (path: 'scan' | 'import', body: object, token = people.admin.token) =>
  call(instance, token, `POST /projects/${path}`, { body })
const local = (token = people.member.token) => call(instance, token, 'GET /projects/local')

const refused = ['outside/secret', 'root/link-out', 'root', 'root/missing', 'root/shop/package.json', 'root/../outside/secret']

describe('POST /projects/scan', () => {
  test('returns how to build the folder, with the file that each value comes from', async () => {
    const { status, body } = await post('scan', { path: at('root/shop') })
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      name: 'shop',
      framework: 'express',
      language: expect.any(String),
      packageManager: 'npm',
      type: 'app',
    })
    expect(body.data.evidence.map(({ file }: { file: string }) => file)).toContain('package.json')
  })

  test('the response is a body of import without a warning', async () => {
    const path = at('root/shop')
    const { body } = await post('scan', { path })
    const made = await post('import', { ...body.data, path })
    expect([made.status, made.body.warnings]).toEqual([201, undefined])
    expect((await post('import', { path, langauge: 'x' })).body.warnings).toEqual(['Unknown field ignored: langauge'])
  })

  test('an empty folder has no detected values, and a warning', async () => {
    const { body } = await post('scan', { path: at('root/empty') })
    expect([body.data.framework, body.data.warnings.length > 0]).toEqual([null, true])
  })

  test.each([...refused, 'relative'])('400 names path: %s', async (path) => {
    const { status, body } = await post('scan', { path: path === 'relative' ? path : at(path) })
    expect([status, body.field]).toEqual([400, 'path'])
  })
})

describe('POST /projects/import', () => {
  test('201: a project of the real folder, with detected values for fields that were not sent', async () => {
    const { status, body } = await post('import', { path: at('root/link-in'), startCommand: 'node other.js', port: 8080 })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({
      name: 'shop',
      type: 'app',
      source: { kind: 'local', provider: 'local', path: at('root/shop') },
      config: { framework: 'express', packageManager: 'npm', startCommand: 'node other.js', port: 8080 },
    })
  })

  test('null means none, whatever was detected', async () => {
    const { body } = await post('import', { path: at('root/shop'), name: 'Mine', startCommand: null })
    expect([body.data.name, body.data.config.startCommand]).toEqual(['Mine', null])
  })

  test('the app of a monorepo is detected in its own folder', async () => {
    const { status, body } = await post('import', { path: at('root/mono'), rootDirectory: 'apps/web' })
    expect([status, body.data.type, body.data.config.rootDirectory]).toEqual([201, 'static', 'apps/web'])
    expect((await post('import', { path: at('root/mono'), rootDirectory: 'apps/none' })).body.field).toBe('rootDirectory')
  })

  test.each(refused)('400 names path: %s', async (path) => {
    const { status, body } = await post('import', { path: at(path) })
    expect([status, body.field]).toEqual([400, 'path'])
  })

  test.each(['gitUrl', 'gitOwner', 'gitRepo', 'localPath', 'uploadSessionId'])('400: another source, %s', async (field) => {
    const { status, body } = await post('import', { path: at('root/shop'), [field]: 'https' })
    expect([status, body.field]).toEqual([400, field])
  })

  test('403 for a token limited to projects', async () => {
    const token = await makeToken(instance, people.member, { projectIds: ['prj_other'] })
    expect((await post('import', { path: at('root/shop') }, token)).status).toBe(403)
  })
})

describe('GET /projects/local', () => {
  test('lists projects whose source is a folder, and whether it exists', async () => {
    const { owner, member } = people
    const before = await local(owner.token)
    mkdirSync(at('root/passing'))
    const here = (await post('import', { path: at('root/shop'), name: 'Here' })).body.data
    const gone = (await post('import', { path: at('root/passing'), name: 'Gone' })).body.data
    await call(instance, member.token, 'POST /projects', { body: { name: 'Git', gitUrl: 'https://git.example/acme/shop.git' } })
    rmSync(at('root/passing'), { recursive: true })
    const { status, body } = await local(owner.token)
    expect([status, body.nextCursor]).toEqual([200, null])
    const known = new Set(before.body.data.map(({ id }: { id: string }) => id))
    const fresh = body.data.filter(({ id }: { id: string }) => !known.has(id))
    const seen = fresh.map(({ id, path, exists }: { id: string; path: string; exists: boolean }) => [id, path, exists])
    expect(new Set(seen)).toEqual(
      new Set([
        [gone.id, at('root/passing'), false],
        [here.id, at('root/shop'), true],
      ]),
    )

    const limited = await makeToken(instance, owner, { projectIds: [here.id] })
    expect((await local(limited)).body.data.map(({ id }: { id: string }) => id)).toEqual([here.id])
  })
})
