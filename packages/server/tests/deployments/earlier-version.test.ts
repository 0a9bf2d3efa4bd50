import { afterAll, beforeAll, expect, test } from 'vitest'
import { assignToOrganizations } from '../../src/modules/deployments/index.ts'
import { call } from '../kit/call.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene?.end())

test('deployments created by a worker of an earlier version are listed, and assigned after the upgrade of the worker', async () => {
  const { people, instance } = scene
  const { db } = instance.database
  const { id } = await scene.makeApp()
  const first = await scene.deploy(id)
  await scene.settled(first)
  const listed = async (token = people.member.token) => {
    const { body } = await call(instance, token, 'GET /deployments')
    return body.data.map((deployment: { id: string }) => deployment.id)
  }
  expect(await listed()).toEqual([first])
  const second = await scene.deploy(id)
  await scene.settled(second)
  // That version does not know the column.
  await db.updateTable('deployments').set({ organizationId: null }).where('id', '=', second).execute()
  expect(await listed()).toEqual([second, first])
  await assignToOrganizations(db)
  const rows = await db.selectFrom('deployments').select('organizationId').distinct().execute()
  expect(rows).toEqual([{ organizationId: people.organizationId }])
  expect(await listed()).toEqual([second, first])
})
