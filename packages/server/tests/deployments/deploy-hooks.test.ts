// gate: also on PostgreSQL, since it is what reads and writes the tables of deploy hooks
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { makePeople } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene.end())

const makeHook = (id: string, body: object = {}) =>
  scene.request('POST /projects/:id/deploy-hooks', id, { body: { name: 'CI', ...body } })
const post = (url: string) =>
  scene.instance.app.inject({
    method: 'POST',
    url: new URL(url).pathname,
    payload: 'whatever',
    headers: { 'content-type': 'text/x' },
  })
const tokenOf = (url: string) => url.split('/').at(-1) as string

describe('a deploy hook', () => {
  test('201 with its URL, shown once; calling it deploys the project: 202', async () => {
    const { id } = await scene.makeApp()
    const made = await makeHook(id)
    expect(made).toMatchObject({
      status: 201,
      body: { data: { name: 'CI', branch: null, environment: 'production', lastUsedAt: null } },
    })
    const { url, ...rest } = made.body.data
    expect(url).toMatch(/\/api\/hooks\/deploy\/dph_[a-z2-7]{40}$/)
    const answer = await post(url)
    expect(answer.statusCode).toBe(202)
    const deployment = await scene.settled(answer.json().data.deploymentId)
    expect(deployment).toMatchObject({
      projectId: id,
      environment: 'production',
      trigger: 'push',
      status: 'live',
      createdBy: null,
    })
    const { body } = await scene.request('GET /projects/:id/deploy-hooks', id)
    expect(body.data).toEqual([{ ...rest, lastUsedAt: expect.any(String) }])
    const rows = await scene.instance.database.db.selectFrom('deployHooks').selectAll().execute()
    const { body: log } = await call(scene.instance, scene.people.owner.token, 'GET /audit-log', {})
    expect(log.data).toContainEqual(
      expect.objectContaining({ action: 'POST /hooks/deploy/:token', objectKind: 'deployHook', objectId: rest.id }),
    )
    const records = await scene.instance.database.db.selectFrom('auditLog').selectAll().execute()
    expect(JSON.stringify([body, rows, log, records])).not.toContain(tokenOf(url))
  })

  test('pulls the image of a project again', async () => {
    const { runtime } = scene.instance.drivers
    runtime.kind = 'docker'
    const digest = (digit: string) => `sha256:${digit.repeat(64)}`
    runtime.images.set('shop/hooked:1', { digest: digest('a'), ports: [80] })
    const { id } = await makeProject(scene.instance, scene.people.admin.token, { image: 'shop/hooked:1' })
    await scene.settled(await scene.deploy(id))
    runtime.images.set('shop/hooked:1', { digest: digest('b'), ports: [80] })
    const { url } = (await makeHook(id)).body.data
    const { deploymentId } = (await post(url)).json().data
    expect((await scene.settled(deploymentId)).image).toBe(`shop/hooked@${digest('b')}`)
    runtime.kind = 'process'
  })

  test('every failure is the same 404: unknown, deleted, of a disabled project', async () => {
    const { id } = await scene.makeApp()
    const [deleted, kept] = [(await makeHook(id)).body.data, (await makeHook(id)).body.data]
    const removal = await call(scene.instance, scene.people.member.token, 'DELETE /projects/:id/deploy-hooks/:hookId', {
      params: { id, hookId: deleted.id },
    })
    expect(removal.status).toBe(204)
    await scene.request('POST /projects/:id/disable', id, {}, scene.people.admin.token)
    const answers = []
    for (const url of [`${scene.url}/api/hooks/deploy/dph_unknown`, deleted.url, kept.url]) answers.push(await post(url))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([404, 404, 404])
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1)
  })

  test('a branch without a repository and an environment that does not exist: 400', async () => {
    const { id } = await scene.makeApp()
    expect(await makeHook(id, { branch: 'main' })).toMatchObject({ status: 400, body: { field: 'branch' } })
    expect(await makeHook(id, { environment: 'nowhere' })).toMatchObject({ status: 400, body: { field: 'environment' } })
  })

  test('of another project or organisation is 404', async () => {
    const [one, other] = [await scene.makeApp(), await scene.makeApp()]
    const hook = (await makeHook(one.id)).body.data
    const remove = (token: string, id: string) =>
      call(scene.instance, token, 'DELETE /projects/:id/deploy-hooks/:hookId', { params: { id, hookId: hook.id } })
    const outsiders = await makePeople(scene.instance)
    expect((await remove(scene.people.member.token, other.id)).status).toBe(404)
    expect((await remove(outsiders.owner.token, one.id)).status).toBe(404)
    expect((await post(hook.url)).statusCode).toBe(202)
  })
})
