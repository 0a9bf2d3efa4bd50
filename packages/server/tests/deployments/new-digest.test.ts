import type { KyselyPlugin } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type ImageRegistry, RegistryFailure } from '../../src/drivers/registry/image-registry.ts'
import type { DeploymentsDeps } from '../../src/modules/deployments/index.ts'
import { checkImages, checkImagesSchedule } from '../../src/modules/deployments/request/check-images.ts'
import { createRegistries } from '../../src/modules/registries/index.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { silentLog } from '../../src/platform/log.ts'
import { call } from '../kit/call.ts'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
const digest = (digit: string) => `sha256:${digit.repeat(64)}`
/** The digest or error of each image in its registry, and the requests to registries. */
const output = new Map<string, string | RegistryFailure>()
const requested: { image: string; hosts: string[] }[] = []
const imageRegistry: ImageRegistry = {
  async digestOf(image, logins) {
    requested.push({ image, hosts: logins.map(({ host }) => host) })
    const answer = output.get(image) ?? new RegistryFailure('not_found', 'no such image')
    if (typeof answer !== 'string') throw answer
    return answer
  },
}
beforeAll(async () => {
  scene = await setScene({ imageRegistry })
  scene.instance.drivers.runtime.kind = 'docker'
})
afterEach(async () => {
  requested.length = 0
  await db().updateTable('projects').set({ autoDeploy: 0 }).execute()
})
afterAll(() => scene.end())

const db = () => scene.instance.database.db
const publish = (image: string, digit: string) => {
  output.set(image, digest(digit))
  scene.instance.drivers.runtime.images.set(image, { digest: digest(digit), ports: [80] })
}
const live = async (fields: object) => {
  const { id } = await makeProject(scene.instance, scene.people.admin.token, { autoDeploy: true, ...fields })
  await scene.settled(await scene.deploy(id))
  return id
}
/** Makes the next check of every project due. */
const check = async () => {
  await round()
  await db().updateTable('imageChecks').set({ nextAt: 0 }).execute()
  await round()
}
const round = async () => {
  await scene.instance.jobs.enqueue(checkImagesSchedule.job, {})
  await scene.instance.jobs.whenIdle()
}
const deploymentsOf = async (id: string) => (await scene.request('GET /projects/:id/deployments', id)).body.data
const imageNow = async (id: string) => (await scene.request('GET /projects/:id/info', id)).body.data.build.image

describe('a new digest of the image', () => {
  test('is deployed automatically, once; the same digest is not', async () => {
    publish('shop/auto:1', 'a')
    const id = await live({ image: 'shop/auto:1' })
    await check()
    expect(await deploymentsOf(id)).toHaveLength(1)
    publish('shop/auto:1', 'b')
    await check()
    await expect.poll(() => imageNow(id)).toBe(`shop/auto@${digest('b')}`)
    const [newest] = await deploymentsOf(id)
    expect(newest).toMatchObject({ trigger: 'push', status: 'live', createdBy: null })
    await check()
    expect(await deploymentsOf(id)).toHaveLength(2)
  })

  test('whose deployment failed is not tried again; the next digest is', async () => {
    publish('shop/broken:1', 'a')
    const id = await live({ image: 'shop/broken:1' })
    publish('shop/broken:1', 'b')
    scene.instance.drivers.runtime.images.set('shop/broken:1', { digest: digest('b'), ports: [80], password: 'unknown' })
    await check()
    await expect.poll(async () => (await deploymentsOf(id))[0].status).toBe('failed')
    await check()
    expect(await deploymentsOf(id)).toHaveLength(2)
    publish('shop/broken:1', 'c')
    await check()
    await expect.poll(() => imageNow(id)).toBe(`shop/broken@${digest('c')}`)
  })

  test('is not checked with auto-deploy off, nor for disabled or never deployed projects', async () => {
    publish('shop/manual:1', 'a')
    await live({ image: 'shop/manual:1', autoDeploy: false })
    const disabled = await live({ image: 'shop/manual:1' })
    await scene.request('POST /projects/:id/disable', disabled, {}, scene.people.admin.token)
    await makeProject(scene.instance, scene.people.admin.token, { image: 'shop/manual:1', autoDeploy: true })
    await check()
    expect(requested).toEqual([])
  })
})

test('each project is checked at its own time within the interval, with the registry logins of its organisation', async () => {
  publish('registry.example.test/shop/timed:1', 'a')
  const body = { host: 'registry.example.test', username: 'ann', password: 'a password' }
  await call(scene.instance, scene.people.admin.token, 'POST /registries', { body })
  const id = await live({ image: 'registry.example.test/shop/timed:1' })
  const before = Date.now()
  await round()
  expect(requested).toEqual([])
  const { nextAt } = await db().selectFrom('imageChecks').selectAll().where('projectId', '=', id).executeTakeFirstOrThrow()
  expect(nextAt).toBeGreaterThanOrEqual(before)
  expect(nextAt).toBeLessThanOrEqual(Date.now() + 300_000)
  await check()
  expect(requested).toEqual([{ image: 'registry.example.test/shop/timed:1', hosts: ['registry.example.test'] }])
})

test('a registry that does not answer is called once per round', async () => {
  const images = ['away.test/a:1', 'away.test/b:1', 'away.test/c:1', 'away.test/d:1', 'away.test/e:1', 'away.test/f:1']
  for (const image of images) {
    publish(image, 'a')
    await live({ image })
  }
  for (const image of images) output.set(image, new RegistryFailure('unreachable', 'away.test did not answer'))
  await check()
  // At most as many as are checked concurrently.
  expect(requested.length).toBeLessThanOrEqual(4)
})

test('100 projects take five queries and one registry request per image of an organisation', async () => {
  const ids: string[] = []
  for (let at = 0; at < 100; at++) {
    const image = `shop/many-${at % 10}:1`
    publish(image, 'a')
    ids.push((await makeProject(scene.instance, scene.people.admin.token, { image, autoDeploy: true })).id)
  }
  const [first] = ids
  await scene.settled(await scene.deploy(first as string))
  const row = await db()
    .selectFrom('deployments')
    .selectAll()
    .where('projectId', '=', first as string)
    .executeTakeFirstOrThrow()
  await db()
    .insertInto('deployments')
    .values(ids.slice(1).map((projectId, at) => ({ ...row, id: `dep_many${at}`, projectId })))
    .execute()
  await round()
  await db().updateTable('imageChecks').set({ nextAt: 0 }).execute()
  requested.length = 0
  const counted = countingDatabase()
  const { secretBox } = scene.instance
  const common = { database: counted.database, clock: systemClock, log: silentLog, secretBox, scrubber: { register: () => {} } }
  const registries = createRegistries({ ...common, settings: { registries: null } })
  const deps = { ...common, registries, imageRegistry, settings: { imageCheckSeconds: 300 } } as unknown as DeploymentsDeps
  await checkImages(deps, new AbortController().signal)
  expect(requested).toHaveLength(10)
  expect(counted.queries).toBe(5)
})

/** The instance's database, with a count of its queries. */
function countingDatabase() {
  const counted = { queries: 0, database: scene.instance.database }
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      counted.queries++
      return node
    },
    transformResult: async ({ result }) => result,
  }
  counted.database = { ...scene.instance.database, db: db().withPlugin(plugin) }
  return counted
}
