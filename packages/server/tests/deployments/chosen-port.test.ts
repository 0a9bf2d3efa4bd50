// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene?.end())

/** The port settings that the next deployment of the project uses. */
async function deployedWith(projectId: string): Promise<{ port: number; portChosen: boolean }> {
  const { id } = await scene.settled(await scene.deploy(projectId))
  const { config } = await scene.instance.database.db
    .selectFrom('deployments')
    .select('config')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const { port, portChosen } = JSON.parse(config)
  return { port, portChosen }
}

test.each(['PATCH /projects/:id', 'PATCH /projects/:id/resources'] as const)(
  'a port set by a user with %s overrides the port of the source',
  async (at) => {
    const { id } = await scene.makeApp()
    expect(await deployedWith(id)).toMatchObject({ portChosen: false })
    const { status } = await call(scene.instance, scene.people.owner.token, at, { params: { id }, body: { port: 4321 } })
    expect(status).toBe(200)
    expect(await deployedWith(id)).toEqual({ port: 4321, portChosen: true })
  },
)
