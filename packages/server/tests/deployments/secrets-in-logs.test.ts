import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BuildFailed } from '../../src/drivers/runtime/runtime-errors.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
let ours: App
let theirs: App
beforeAll(async () => {
  scene = await setScene()
})
beforeEach(async () => {
  scene.instance.drivers.runtime.whileBuilding = async () => {}
  ;[ours, theirs] = [await makeApp(), await makeApp()]
})
afterAll(() => scene?.end())

type Variable = { key: string; value: string; isSecret?: boolean }

interface App {
  id: string
  set(...upserts: Variable[]): Promise<void>
  deploy(): Promise<string>
  /** Writes output like a running instance, and returns the lines that the log stores. */
  print(message: string): Promise<string>
}

async function makeApp(): Promise<App> {
  const { id } = await scene.makeApp()
  const runtime = () =>
    [...scene.instance.drivers.runtime.running.values()].filter(({ instance }) => instance.owner.projectId === id)
  const lines = async (): Promise<string[]> =>
    (await scene.request('GET /projects/:id/logs', id, { query: { tail: 1000 } })).body.data.map(
      ({ message }: { message: string }) => message,
    )
  return {
    id,
    async set(...upserts) {
      const { status } = await scene.request('PATCH /projects/:id/env', id, { body: { upserts } })
      expect(status).toBe(200)
    },
    async deploy() {
      const deployment = await scene.deploy(id)
      expect(await scene.settled(deployment)).toMatchObject({ status: 'live' })
      return deployment
    },
    async print(message) {
      const mark = `(${crypto.randomUUID()})`
      runtime()
        .at(-1)!
        .output.push({ time: new Date().toISOString(), stream: 'stdout', message: `${message} ${mark}` })
      const find = async () => (await lines()).find((line) => line.endsWith(mark))
      await expect.poll(find).toBeDefined()
      return (await find())!.slice(0, -mark.length - 1)
    },
  }
}

const secret = (value: string, key = 'API_KEY'): Variable => ({ key, value, isSecret: true })

describe('output of a project', () => {
  test('hides its own secrets and shows none of another project', async () => {
    await ours.set(secret('canary-of-ours'))
    await theirs.set(secret('canary-of-theirs'))
    await ours.deploy()
    await theirs.deploy()
    expect(await ours.print('canary-of-ours canary-of-theirs')).toBe('[secret] canary-of-theirs')
    expect(await theirs.print('canary-of-ours canary-of-theirs')).toBe('canary-of-ours [secret]')
  })

  test('hides only secrets, also after a rollback', async () => {
    await ours.set(secret('canary-of-ours'), { key: 'STAGE', value: 'my-own-stage' })
    const first = await ours.deploy()
    await ours.deploy()
    const { status, body } = await scene.request('POST /deployments/:id/rollback', first)
    expect(status).toBe(202)
    await scene.settled(body.data.deploymentId ?? body.data.id)
    expect(await ours.print('my-own-stage canary-of-ours')).toBe('my-own-stage [secret]')
    expect(await theirs.deploy().then(() => theirs.print('my-own-stage'))).toBe('my-own-stage')
  })

  test('keeps hiding a secret, however many secrets other projects store', async () => {
    await ours.set(secret('canary-of-ours'))
    await ours.deploy()
    for (const app of [theirs, await makeApp()]) {
      await app.set(...Array.from({ length: 14 }, (_, at) => secret(`A${at}${'0123456789'.repeat(6_500)}`, `A${at}`)))
      await app.deploy()
    }
    expect(await ours.print('canary-of-ours')).toBe('[secret]')
    expect(await theirs.print('A5012345678901234567890123456789012345678901234567890123456789012345')).toContain('[secret]')
  })

  test('keeps hiding a changed secret as long as the version that uses it runs', async () => {
    await ours.set(secret('canary-before'))
    await ours.deploy()
    await ours.set(secret('canary-after'))
    expect(await ours.print('canary-before canary-after')).toBe('[secret] [secret]')
  })

  test('hides a secret that is set while the project runs, from then on', async () => {
    await ours.deploy()
    expect(await ours.print('canary-to-come')).toBe('canary-to-come')
    await ours.set(secret('canary-to-come'))
    expect(await ours.print('canary-to-come')).toBe('[secret]')
  })

  test('shows short and everyday values', async () => {
    await ours.set(secret('production', 'NODE_ENV'), secret('12345', 'PIN'), secret('canary-of-ours'))
    await ours.deploy()
    expect(await ours.print('production 12345 canary-of-ours')).toBe('production 12345 [secret]')
  })
})

describe('output of a deployment', () => {
  test('its log, its error and its notification hide the secrets of the project', async () => {
    await ours.set(secret('canary-of-ours'))
    scene.instance.drivers.runtime.whileBuilding = async (_, report) => {
      report('using canary-of-ours')
      throw new BuildFailed('command_failed', 'The build said canary-of-ours', ['line canary-of-ours'])
    }
    const id = await scene.deploy(ours.id)
    expect(await scene.settled(id)).toMatchObject({
      status: 'failed',
      error: { message: 'The build said [secret]', logTail: ['line [secret]'] },
    })
    const { body } = await scene.request('GET /deployments/:id/logs', id)
    expect(JSON.stringify(body)).toContain('using [secret]')
    expect(JSON.stringify(body)).not.toContain('canary-of-ours')
    const announced = () =>
      scene.instance.database.db.selectFrom('announcements').select('text').where('projectId', '=', ours.id).execute()
    // Announced by a separate job.
    await expect.poll(announced).toEqual([{ text: 'The build said [secret]' }])
  })
})
