import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { makePeople, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
let others: People
beforeAll(async () => {
  scene = await setScene()
  scene.instance.drivers.runtime.kind = 'docker'
  others = await makePeople(scene.instance)
})
afterAll(() => scene.end())

const digest = (digit: string) => `sha256:${digit.repeat(64)}`
const runtime = () => scene.instance.drivers.runtime
const make = (body: object, token = scene.people.admin.token) => makeProject(scene.instance, token, body)
const deployed = async (id: string) => scene.settled(await scene.deploy(id))
const create = (body: object) =>
  call(scene.instance, scene.people.admin.token, 'POST /projects', { body: { name: 'One image', ...body } })
const patch = (id: string, body: object) => scene.request('PATCH /projects/:id', id, { body }, scene.people.admin.token)
const startedFor = (deploymentId: string) =>
  [...runtime().running.values()].find(({ request }) => request.owner.deploymentId === deploymentId)?.request

describe('a project of one image', () => {
  test('has the source kind image; a new digest is deployed only if that is enabled', async () => {
    const { body } = await create({ image: 'nginx:1.27' })
    expect(body.data).toMatchObject({
      type: 'app',
      source: { kind: 'image', provider: null },
      config: { image: 'nginx:1.27', autoDeploy: false },
    })
    expect((await create({ image: 'nginx:1.27', autoDeploy: true })).body.data.config.autoDeploy).toBe(true)
  })

  test('runs the digest that its tag stands for, at the port that the image declares', async () => {
    runtime().images.set('shop/web:1', { digest: digest('a'), ports: [443, 80] })
    const { id } = await make({ image: 'shop/web:1' })
    const deployment = await deployed(id)
    expect(deployment).toMatchObject({
      status: 'live',
      image: `shop/web@${digest('a')}`,
      plan: { type: 'app', port: 80 },
      error: null,
    })
    expect(startedFor(deployment.id)).toMatchObject({ artifact: { reference: `shop/web@${digest('a')}` }, port: 80 })
  })

  test('a port that was set is kept, a start command replaces that of the image, and a worker has no port', async () => {
    runtime().images.set('shop/api:1', { digest: digest('b'), ports: [5000] })
    const app = await deployed((await make({ image: 'shop/api:1', port: 9000, startCommand: 'serve --all' })).id)
    expect(startedFor(app.id)).toMatchObject({ port: 9000, artifact: { startCommand: 'serve --all' } })
    const worker = await deployed((await make({ image: 'shop/api:1', type: 'worker' })).id)
    expect(worker).toMatchObject({ status: 'live', plan: { type: 'worker', port: null } })
  })

  test('is pulled again by each deployment; a rollback runs the digest of its time', async () => {
    runtime().images.set('shop/moving:latest', { digest: digest('c'), ports: [80] })
    const { id } = await make({ image: 'shop/moving:latest' })
    const first = await deployed(id)
    runtime().images.set('shop/moving:latest', { digest: digest('d'), ports: [80] })
    expect((await deployed(id)).image).toBe(`shop/moving@${digest('d')}`)
    const fetches = runtime().fetched.length
    const { body } = await scene.request('POST /deployments/:id/rollback', first.id)
    const back = await scene.settled(body.data.deploymentId)
    expect(back).toMatchObject({ status: 'live', image: `shop/moving@${digest('c')}` })
    expect(startedFor(back.id)?.artifact.reference).toBe(`shop/moving@${digest('c')}`)
    expect(runtime().fetched).toHaveLength(fetches)
  })

  test('without Docker its deployment fails with that reason', async () => {
    runtime().kind = 'process'
    try {
      const deployment = await deployed((await make({ image: 'nginx:1.27' })).id)
      expect(deployment).toMatchObject({ status: 'failed', error: { code: 'plan_failed' } })
      expect(deployment.error?.message).toMatch(/^A project from an image needs Docker/)
    } finally {
      runtime().kind = 'docker'
    }
  })
})

describe('a pulled image', () => {
  const has = (reference: string) => runtime().artifacts.has(reference)

  test('is removed when it leaves the rollback window, and with the last project that uses it', async () => {
    const image = 'shop/shared:1'
    const at = (digit: string) => {
      runtime().images.set(image, { digest: digest(digit), ports: [80] })
      return `shop/shared@${digest(digit)}`
    }
    const first = at('1')
    const one = await make({ image, rollbackWindow: 0 })
    const other = await make({ image, rollbackWindow: 0 })
    for (const { id } of [one, other]) await deployed(id)
    const second = at('2')
    await deployed(one.id)
    await expect.poll(() => has(second)).toBe(true)
    // The other project runs it.
    await expect.poll(async () => (await artifactsNaming(first)).length).toBe(1)
    expect(has(first)).toBe(true)
    const third = at('3')
    await deployed(one.id)
    await expect.poll(() => has(second)).toBe(false)
    await scene.request('DELETE /projects/:id', one.id, {}, scene.people.owner.token)
    await expect.poll(() => has(third)).toBe(false)
    expect(has(first)).toBe(true)
  })

  const artifactsNaming = (reference: string) =>
    scene.instance.database.db.selectFrom('deployments').select('id').where('artifacts', 'like', `%${reference}%`).execute()
})

describe('the image of a body', () => {
  test.each([
    ['an id', { image: `sha256:${'a'.repeat(64)}` }, 'image'],
    ['an id without its prefix', { image: 'a'.repeat(64) }, 'image'],
    ['an address', { image: 'https://ghcr.io/acme/shop' }, 'image'],
    ['an option', { image: '--privileged' }, 'image'],
    ['a way out of the path', { image: 'ghcr.io/../v2/x' }, 'image'],
    ['two sources', { image: 'nginx:1.27', gitUrl: 'https://git.example.com/acme/shop.git' }, 'gitUrl'],
    ['a static site', { image: 'nginx:1.27', type: 'static' }, 'type'],
    ['services', { image: 'nginx:1.27', services: [{ name: 'db', image: 'postgres:17' }] }, 'services'],
  ])('400: %s', async (_, body, field) => expect(await create(body)).toMatchObject({ status: 400, body: { field } }))

  test.each([
    'nginx',
    'nginx:1.27',
    'library/nginx',
    'ghcr.io/acme/shop_web__x:v1.2',
    'localhost:5000/a/b-c.d',
    `ghcr.io/acme/shop@sha256:${'0'.repeat(64)}`,
    `ghcr.io/acme/shop:1@sha256:${'0'.repeat(64)}`,
  ])('%s is accepted', async (image) => expect((await create({ image })).body.data.config.image).toBe(image))

  test('replaces another source, and is replaced by another source', async () => {
    const gitUrl = 'https://git.example.com/acme/shop.git'
    const { id } = await make({ gitUrl })
    expect((await patch(id, { image: 'nginx:1.27' })).body.data).toMatchObject({
      source: { kind: 'image', url: null, owner: null },
      config: { image: 'nginx:1.27' },
    })
    expect((await patch(id, { gitUrl })).body.data).toMatchObject({
      source: { kind: 'git', url: gitUrl },
      config: { image: null },
    })
    await patch(id, { image: 'nginx:1.27' })
    expect((await patch(id, { image: null })).body.data).toMatchObject({ source: { kind: 'none' }, config: { image: null } })
  })

  test('takes effect with the next deployment after a change', async () => {
    const { id } = await make({ image: 'shop/web:1' })
    await deployed(id)
    expect((await patch(id, { image: 'shop/web:2' })).body.data.pendingChanges).toEqual(['config'])
  })

  test('cannot be replaced by an upload in a deployment', async () => {
    const { id } = await make({ image: 'shop/web:1' })
    const { body } = await call(scene.instance, scene.people.admin.token, 'POST /projects/folder/session', { body: {} })
    const answer = await call(scene.instance, scene.people.member.token, 'POST /deployments/build/access', {
      body: { projectId: id, uploadSessionId: body.data.sessionId },
    })
    expect(answer).toMatchObject({ status: 400, body: { field: 'uploadSessionId' } })
  })
})

describe('registry logins', () => {
  const host = 'registry.example.test'
  const image = `${host}/team/private:1`
  const login = (token: string, password = 'a-registry-password') =>
    call(scene.instance, token, 'POST /registries', { body: { host, username: 'ann', password } })

  test('of the organisation are used for its pulls, builds and starts; those of another organisation are not', async () => {
    runtime().images.set(image, { digest: digest('e'), ports: [80], password: 'a-registry-password' })
    await login(others.owner.token)
    const { id } = await make({ image })
    const denied = await deployed(id)
    expect(denied).toMatchObject({ status: 'failed', error: { code: 'image_failed' } })
    expect(denied.error?.message).toMatch(/unauthorized/)
    await login(scene.people.admin.token)
    const allowed = await deployed(id)
    expect(allowed).toMatchObject({ status: 'live', image: `${host}/team/private@${digest('e')}` })
    const hostsIn = (logins: readonly { host: string }[] | undefined) => logins?.map((one) => one.host)
    expect(hostsIn(startedFor(allowed.id)?.registryLogins)).toEqual([host])
    const builds: (readonly { host: string }[] | undefined)[] = []
    runtime().whileBuilding = async ({ registryLogins }) => void builds.push(registryLogins)
    await deployed((await scene.makeApp()).id)
    runtime().whileBuilding = async () => {}
    expect(builds.map(hostsIn)).toEqual([[host]])
    const { body } = await scene.request('GET /deployments/:id/logs', allowed.id)
    expect(JSON.stringify([body, denied, allowed])).not.toContain('a-registry-password')
  })
})
