import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployKind } from '../../src/modules/deployments/request/request-deployment.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene?.end())

/** Runs the job of a deployment again, as after kill -9. */
async function runAgain(deploymentId: string, organizationId: string): Promise<void> {
  const { database } = scene.instance
  const { id } = await database.transaction(({ enqueue }) => enqueue(deployKind.of({ organizationId }), { deploymentId }))
  const status = async () =>
    (await database.db.selectFrom('jobs').select('status').where('id', '=', id).executeTakeFirst())?.status
  await expect.poll(status, { timeout: 20_000 }).not.toMatch(/queued|running/)
}

test('a deployment whose job is run again after it went live has the "live" line in its log once', async () => {
  const { id: projectId } = await scene.makeApp()
  const { id, organizationId } = await scene.instance.database.db
    .selectFrom('projects')
    .select(['id', 'organizationId'])
    .where('id', '=', projectId)
    .executeTakeFirstOrThrow()
  const deployed = await scene.settled(await scene.deploy(id))
  expect(deployed.status).toBe('live')
  const liveLines = async () => {
    const { body } = await scene.request('GET /deployments/:id/logs', deployed.id)
    return body.data.filter(({ message }: { message: string }) => message === 'Live')
  }
  expect(await liveLines()).toMatchObject([{ step: 'switch' }])
  // The worker died between the commit and the line.
  await scene.instance.logStore.remove(projectId)
  expect(await liveLines()).toEqual([])
  await runAgain(deployed.id, organizationId)
  expect(await liveLines()).toMatchObject([{ step: 'switch' }])
  await runAgain(deployed.id, organizationId)
  expect(await liveLines()).toHaveLength(1)
})
