// gate: also on PostgreSQL, since ten deployments are requested at once
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Failure } from '../../src/platform/failure.ts'
import { call } from '../kit/call.ts'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

/** A push is deployed by many projects at once. */
let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene?.end())

test('a batch of ten refuses the projects without source, disabled or deleted, and deploys the others', async () => {
  const { instance, people } = scene
  const { token } = people.owner
  const ids = await Promise.all(Array.from({ length: 10 }, async () => (await scene.makeApp(token)).id))
  ids[3] = (await makeProject(instance, token, { name: 'No source' })).id
  await call(instance, token, 'POST /projects/:id/disable', { params: { id: ids[6]! } })
  ids[8] = 'prj_00000000000000000000'
  const options = { trigger: 'push' as const, createdBy: null, requestKey: 'push:one' }
  const request = () => instance.running!.modules.deployments.deployMany(ids.map((projectId) => ({ projectId, options })))
  const refused = await request()
  expect(refused.map(({ projectId, error }) => [ids.indexOf(projectId), (error as Failure).code])).toEqual([
    [3, 'nothing_to_deploy'],
    [6, 'project_disabled'],
    [8, 'not_found'],
  ])
  // A repeated request creates nothing twice.
  await request()
  await instance.jobs.whenIdle()
  const { db } = instance.database
  const made = await db.selectFrom('deployments').select(['projectId', 'status']).where('projectId', 'in', ids).execute()
  expect(made.map(({ projectId }) => ids.indexOf(projectId)).sort()).toEqual([0, 1, 2, 4, 5, 7, 9])
  expect(new Set(made.map(({ status }) => status))).toEqual(new Set(['live']))
})
