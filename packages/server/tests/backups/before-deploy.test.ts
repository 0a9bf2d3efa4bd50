import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreFailure } from '../../src/drivers/archive-store/store-failure.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
  await scene.fill({ 'a.txt': 'hello' })
})
afterAll(() => scene?.end())

const runsOf = async (policyId: string) => {
  const input = { params: { projectId: scene.projectId }, query: { policyId } }
  return (await scene.as(scene.people.owner.token, 'GET /projects/:projectId/backup-runs', input)).body.data
}

test('a policy with beforeDeploy runs before each deployment', async () => {
  const { id, beforeDeploy } = await scene.makePolicy({ beforeDeploy: true })
  expect(beforeDeploy).toBe(true)
  const deployment = await scene.settled(await scene.deploy(scene.projectId))
  expect(deployment.status).toBe('live')
  expect(await runsOf(id)).toMatchObject([{ trigger: 'pre_deploy', status: 'succeeded' }])
  await scene.as(scene.people.owner.token, 'DELETE /backup-policies/:policyId', { params: { policyId: id } })
})

test('a deployment whose backup fails stops, and says what to do', async () => {
  const { id } = await scene.makePolicy({ beforeDeploy: true })
  scene.withStore(() => ({ check: () => Promise.reject(new StoreFailure('full', 'The disk is full')) }))
  const deployment = await scene.settled(await scene.deploy(scene.projectId))
  expect(deployment).toMatchObject({ status: 'failed', error: { code: 'backup_failed' } })
  expect(deployment.error?.message).toContain('beforeDeploy')
  const [run] = await runsOf(id)
  expect(run).toMatchObject({ trigger: 'pre_deploy', error: expect.anything() })
})
