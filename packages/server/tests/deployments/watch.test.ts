import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Probe } from '../../src/drivers/probe/probe.ts'
import type { Instance } from '../../src/drivers/runtime/runtime.ts'
import { BuildFailed } from '../../src/drivers/runtime/runtime-errors.ts'
import { announceKind } from '../../src/platform/jobs/announce.ts'
import { memoryDrivers } from '../kit/memory-runtime.ts'
import { quickWatch } from '../kit/quick-watch.ts'
import { type Scene, setScene } from './scene.ts'

let folder: string
let scene: Scene
/** The port of a server that accepts requests and never answers, once known. */
let hung = 0
let requested = 0
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-watch-'))
  const drivers = memoryDrivers(folder)
  const { probe } = drivers
  const hanging: Probe = (target, timeoutMs, abort) => {
    if (target.port !== hung) return probe(target, timeoutMs, abort)
    requested += 1
    return new Promise((resolve) => {
      abort.addEventListener('abort', () => resolve({ healthy: false, status: null, reason: 'it hung' }), { once: true })
    })
  }
  scene = await setScene({ drivers: { ...drivers, probe: hanging }, watchIntervals: quickWatch })
  Object.assign(scene.instance, { drivers })
})
afterAll(async () => {
  await scene?.end()
  rmSync(folder, { recursive: true, force: true })
})

// Run concurrently, since each mostly waits for the next checks of its project.
test.concurrent('a project that does not answer delays no check of another one: lost instances are started again', async ({
  expect,
}) => {
  const { runtime } = scene.instance.drivers
  const live = async () => {
    const { id } = await scene.makeApp()
    expect(await scene.settled(await scene.deploy(id))).toMatchObject({ status: 'live' })
    return [...runtime.running.values()].find(({ instance }) => instance.owner.projectId === id)!.instance
  }
  const [first, second] = [await live(), await live()]
  hung = first.address!.port
  await expect.poll(() => requested).toBe(1)
  runtime.crash(second.instanceId)
  await runtime.stop(second.instanceId)
  const isBack = () => [...runtime.running.values()].some(({ instance }) => instance.owner.projectId === second.owner.projectId)
  await expect.poll(isBack).toBe(true)
  expect(requested).toBe(1)
})

const liveApp = async () => {
  const { runtime } = scene.instance.drivers
  const { id } = await scene.makeApp()
  expect(await scene.settled(await scene.deploy(id))).toMatchObject({ status: 'live' })
  return [...runtime.running.values()].find(({ instance }) => instance.owner.projectId === id)!
}
const healthOf = ({ owner: { projectId } }: Pick<Instance, 'owner'>) =>
  scene.instance.database.db
    .selectFrom('liveEnvironments')
    .select(['health', 'healthReason'])
    .where('projectId', '=', projectId)
    .executeTakeFirst()
const reported = async ({ owner: { projectId } }: Pick<Instance, 'owner'>) => {
  const rows = await scene.instance.database.db
    .selectFrom('jobs')
    .select('payload')
    .where('kind', '=', announceKind.kind)
    .execute()
  return rows
    .map(({ payload }) => JSON.parse(payload))
    .flatMap((event) => (event.projectId === projectId ? [event.category] : []))
}

test.concurrent('a lost instance that cannot be started again is unhealthy, and recovers once it can', async ({ expect }) => {
  const { runtime } = scene.instance.drivers
  const { instance, request } = await liveApp()
  const artifact = runtime.artifacts.get(request.artifact.reference)!
  // Nor can it be built again.
  const { whileBuilding } = runtime
  runtime.whileBuilding = async (build, report, abort) => {
    if (build.owner.projectId === instance.owner.projectId) throw new BuildFailed('command_failed', 'The build failed')
    await whileBuilding?.(build, report, abort)
  }
  runtime.artifacts.delete(request.artifact.reference)
  await runtime.stop(instance.instanceId)
  const healthReason = expect.stringMatching(
    /the container was removed.*does not exist any more, and could not be built again: The build failed/,
  )
  await expect.poll(() => healthOf(instance)).toEqual({ health: 'unhealthy', healthReason })
  runtime.artifacts.set(request.artifact.reference, artifact)
  runtime.whileBuilding = whileBuilding
  await expect.poll(() => healthOf(instance)).toEqual({ health: 'healthy', healthReason: null })
  await expect.poll(() => reported(instance)).toEqual(expect.arrayContaining(['project.unhealthy', 'project.recovered']))
})

test.concurrent('an instance that the runtime no longer lists is unhealthy', async ({ expect }) => {
  const { runtime } = scene.instance.drivers
  const { instance } = await liveApp()
  const { inspectCached } = runtime
  runtime.inspectCached = (id) =>
    id === instance.instanceId ? Promise.reject(new Error('The engine is away')) : inspectCached(id)
  const healthReason = expect.stringContaining('The engine is away')
  await expect.poll(() => healthOf(instance)).toEqual({ health: 'unhealthy', healthReason })
  runtime.inspectCached = inspectCached
  await expect.poll(() => healthOf(instance)).toMatchObject({ health: 'healthy' })
})

test.concurrent('an instance ended for its disk limit reports the remedy, and returns as a fresh instance', async ({
  expect,
}) => {
  const { runtime } = scene.instance.drivers
  const kept = await liveApp()
  const { instance } = kept
  kept.instance = { ...instance, state: 'exited', exitCode: 137, diskFull: true, address: null }
  const isBack = () =>
    [...runtime.running.values()].find(
      ({ instance: other }) => other.owner.projectId === instance.owner.projectId && other.instanceId !== instance.instanceId,
    )?.instance.state
  await expect.poll(isBack).toBe('running')
  await expect.poll(() => healthOf(instance)).toEqual({ health: 'healthy', healthReason: null })
  const reported = await scene.instance.database.db
    .selectFrom('jobs')
    .select('payload')
    .where('kind', '=', announceKind.kind)
    .execute()
  const text = reported
    .map(({ payload }) => payload)
    .find((one) => one.includes(instance.owner.projectId) && one.includes('unhealthy'))
  expect(text).toMatch(/4096 MB.*diskMb/)
  // Once more at once: a volume would end it again and again, so it stays down and says why.
  const again = [...runtime.running.values()].find(({ instance: one }) => one.owner.projectId === instance.owner.projectId)!
  again.instance = { ...again.instance, state: 'exited', diskFull: true, address: null }
  await expect
    .poll(() => healthOf(instance))
    .toMatchObject({ health: 'unhealthy', healthReason: expect.stringContaining('diskMb') })
  expect(isBack()).toBe('exited')
})
