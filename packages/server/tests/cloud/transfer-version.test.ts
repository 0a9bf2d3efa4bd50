import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BuildRequest } from '../../src/drivers/runtime/runtime.ts'
import { tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { call } from '../kit/call.ts'
import { makeProject } from '../kit/projects.ts'
import { setTransferScene, type TransferScene } from './transfer-scene.ts'

let scene: TransferScene
/** The text of server.js that each deployment was built from. */
const built = new Map<string, string>()
beforeAll(async () => {
  scene = await setTransferScene()
  for (const { drivers } of [scene.here, scene.cloud])
    drivers.runtime.whileBuilding = async ({ owner, sourceFolder }: BuildRequest) => {
      built.set(owner.deploymentId, await readFile(join(sourceFolder, 'server.js'), 'utf8'))
    }
})
afterAll(() => scene?.end())

const send = (at: `${'GET' | 'POST' | 'PATCH'} /${string}`, id: string, body?: object) =>
  call(scene.here, scene.people.owner.token, at, { params: { id }, ...(body ? { body } : {}) })

const manifest = JSON.stringify({ name: 'shop', scripts: { start: 'node server.js' } })
const textOf = (version: string) => `// ${version}\nrequire('http').createServer(() => {}).listen(4567)`

async function deployVersion(projectId: string, version?: string, environment = 'production'): Promise<string> {
  const { here, people } = scene
  const { token } = people.owner
  let uploadSessionId: string | undefined
  if (version) {
    uploadSessionId = (await call(here, token, 'POST /projects/folder/session', { body: {} })).body.data.sessionId
    const { statusCode } = await here.app.inject({
      ...{ method: 'POST', url: `/api/projects/folder/upload/${uploadSessionId}` },
      payload: tarball({ name: 'package.json', content: manifest }, { name: 'server.js', content: textOf(version) }),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/gzip' },
    })
    expect(statusCode).toBe(200)
  }
  const body = { projectId, environment, ...(uploadSessionId ? { uploadSessionId } : {}) }
  return settled((await call(here, token, 'POST /deployments/build/access', { body })).body.data.deploymentId)
}
async function settled(id: string): Promise<string> {
  await expect.poll(async () => (await send('GET /deployments/:id', id)).body.data.status).toMatch(/live|failed/)
  return id
}
const live = async (side: 'here' | 'cloud', id: string) => {
  const { data } = (await send('GET /projects/:id/info', id)).body
  const runs = () =>
    [...scene[side].drivers.runtime.running.values()]
      .filter(({ request }) => request.owner.projectId === id)
      .map(({ request }) => [request.owner.deploymentId, request.port])
  // The previous version may still drain.
  await expect.poll(runs).toEqual([[data.runtime.deploymentId, data.plan.port]])
  return { version: /v\d/.exec(built.get(data.runtime.deploymentId) ?? '')?.[0], port: data.plan.port }
}
const moved = async (id: string, to: 'to-cloud' | 'to-self-hosted') => expect((await scene.move(id, to)).status).toBe(200)

const sources: [string, () => Promise<{ id: string }>][] = [
  ['an upload project', () => makeProject(scene.here, scene.people.owner.token, { gitProvider: 'upload' })],
  ['a project without a source', () => makeProject(scene.here, scene.people.owner.token)],
  ['a project of a folder', () => scene.makeLive()],
]

describe('after three uploads, another deployment and a transfer to the cloud and back, the third upload serves everywhere', () => {
  test.each(sources)('%s', async (_, make) => {
    const { id } = await make()
    for (const version of ['v1', 'v2', 'v3']) await deployVersion(id, version)
    await deployVersion(id)
    expect(await live('here', id)).toEqual({ version: 'v3', port: 4567 })
    await moved(id, 'to-cloud')
    expect(await live('cloud', id)).toEqual({ version: 'v3', port: 4567 })
    await moved(id, 'to-self-hosted')
    expect(await live('here', id)).toEqual({ version: 'v3', port: 4567 })
    await deployVersion(id)
    expect(await live('here', id)).toEqual({ version: 'v3', port: 4567 })
  })
})

test('a transfer includes the live version, not a newer one that failed or was rolled back', async () => {
  const { id } = await makeProject(scene.here, scene.people.owner.token, { gitProvider: 'upload' })
  const first = await deployVersion(id, 'v1')
  await deployVersion(id, 'v2')
  await settled((await send('POST /deployments/:id/rollback', first)).body.data.deploymentId)
  await moved(id, 'to-cloud')
  expect((await live('cloud', id)).version).toBe('v1')
})

test('an upload of another environment stays behind, and a warning names the environment', async () => {
  const { id } = await makeProject(scene.here, scene.people.owner.token, { gitProvider: 'upload' })
  for (const name of ['staging', 'quiet']) expect((await send('POST /projects/:id/environments', id, { name })).status).toBe(201)
  await deployVersion(id, 'v1')
  await deployVersion(id, 'v2', 'staging')
  await deployVersion(id, undefined, 'quiet')
  const { status, body } = await scene.move(id, 'to-cloud')
  const named = body.warnings.filter((warning: string) => warning.includes('upload'))
  expect([status, named]).toEqual([200, [expect.stringContaining('The upload of environment staging was not transferred')]])
})

test('a detected port stays detected and a chosen one chosen', async () => {
  const { id } = await makeProject(scene.here, scene.people.owner.token, { gitProvider: 'upload' })
  await deployVersion(id, 'v1')
  const chosen = async (side: 'here' | 'cloud') =>
    scene[side].database.db.selectFrom('projects').select(['port', 'portChosen']).where('id', '=', id).executeTakeFirst()
  await moved(id, 'to-cloud')
  expect(await chosen('cloud')).toEqual({ port: 3000, portChosen: 0 })
  expect((await send('PATCH /projects/:id', id, { port: 8123 })).status).toBe(200)
  await moved(id, 'to-self-hosted')
  expect(await chosen('here')).toEqual({ port: 8123, portChosen: 1 })
})
