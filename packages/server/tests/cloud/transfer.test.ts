// gate: also on PostgreSQL, since a transfer and an arrival take locks
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newBundleKey } from '../../src/drivers/archive/bundle-key.ts'
import { transferKind } from '../../src/modules/transfers/coordinator/transfer-job.ts'
import { insertTransfer } from '../../src/modules/transfers/rows/transfer-store.ts'
import { newId } from '../../src/platform/db/ids.ts'
import { call } from '../kit/call.ts'
import { makePeople, makeToken } from '../kit/people.ts'
import { callsOn } from '../kit/projects.ts'
import { setTransferScene, type TransferScene } from './transfer-scene.ts'

let scene: TransferScene
beforeAll(async () => {
  scene = await setTransferScene()
})
afterEach(() => {
  for (const { drivers } of [scene.here, scene.cloud]) {
    drivers.runtime.isHealthy = true
    drivers.runtime.whileBuilding = async () => {}
  }
})
afterAll(() => scene?.end())

const on = (project: { id: string }) => callsOn(scene.here, scene.people.owner.token)(project)
const inCloud = (project: { id: string }) => callsOn(scene.cloud, scene.cloudPeople.owner.token)(project)
const envOf = async (calls: ReturnType<typeof on>) => (await calls('GET', '/env')).body.data
const open = async (side: 'here' | 'cloud', id: string) => (await scene[side].projects.openEnv(id, 'production')).values
const rulesAt = async (side: 'here' | 'cloud', id: string) => {
  const rows = await scene[side].database.db.selectFrom('routeRules').selectAll().where('projectId', '=', id).execute()
  return rows.map(({ kind, config }) => ({ kind, config }))
}
const running = (side: 'here' | 'cloud', id: string) =>
  [...scene[side].drivers.runtime.running.values()].filter(({ request }) => request.owner.projectId === id).length

describe('POST /projects/:id/transfer/to-cloud, and back', () => {
  test('transfers config, variables, source and volumes; the id stays, exactly one side serves at any time, and edge rules return', async () => {
    const project = await scene.makeLive({ name: 'Traveller' })
    await scene.setVolume('here', project.id, 'from home')
    const [env, rules] = [await envOf(on(project)), await rulesAt('here', project.id)]
    expect((await scene.move(project.id, 'to-cloud', { withData: true })).body).toEqual({
      data: { projectId: project.id, location: 'cloud' },
      warnings: [expect.stringContaining('edge rule ban')],
    })
    expect(await open('cloud', project.id)).toEqual({ SECRET: 'of "many"\n$lines', PLAIN: 'yes' })
    expect(await rulesAt('cloud', project.id)).toEqual([])
    expect(await scene.volume('cloud', project.id)).toBe('from home')
    expect([scene.serves('here', project.slug), scene.serves('cloud', project.slug)]).toEqual([undefined, 'upstreams'])
    expect([running('here', project.id), running('cloud', project.id)]).toEqual([0, 1])
    const shown = (await on(project)('GET', '')).body.data
    expect(shown).toMatchObject({ id: project.id, location: 'cloud', status: 'live' })
    expect((await inCloud(project)('GET', '/deployments')).body.data[0]).toMatchObject({ trigger: 'transfer', status: 'live' })
    expect((await on(project)('GET', '/transfer')).body.data).toMatchObject({ phase: 'done', direction: 'to_cloud', error: null })

    await scene.setVolume('cloud', project.id, 'from the cloud')
    expect((await scene.move(project.id, 'to-self-hosted', { withData: true })).body).toEqual({
      data: { projectId: project.id, location: 'local' },
      warnings: [],
    })
    expect(await scene.volume('here', project.id)).toBe('from the cloud')
    const plain = (list: { updatedAt: string }[]) => list.map(({ updatedAt: _, ...rest }) => rest)
    expect(plain(await envOf(on(project)))).toEqual(plain(env))
    expect(await rulesAt('here', project.id)).toEqual(rules)
    expect([scene.serves('here', project.slug), scene.serves('cloud', project.slug)]).toEqual(['upstreams', undefined])
    expect([running('here', project.id), running('cloud', project.id)]).toEqual([1, 0])
    expect((await on(project)('GET', '')).body.data).toMatchObject({ location: 'local', status: 'live', slug: project.slug })
    expect((await inCloud(project)('GET', '')).status).toBe(404)
  })

  test('409 already_there, 404 for a project that exists on neither side', async () => {
    const project = await scene.makeLive()
    const seen = async (id: string, to: 'to-cloud' | 'to-self-hosted') => {
      const { status, body } = await scene.move(id, to)
      return [status, body.code]
    }
    expect(await seen(project.id, 'to-self-hosted')).toEqual([409, 'already_there'])
    expect((await scene.move(project.id, 'to-cloud')).status).toBe(200)
    expect(await seen(project.id, 'to-cloud')).toEqual([409, 'already_there'])
    expect(await seen('prj_aaaaaaaaaaaaaaaaaaaa', 'to-cloud')).toEqual([404, 'not_found'])
    expect(await seen('prj_aaaaaaaaaaaaaaaaaaaa', 'to-self-hosted')).toEqual([404, 'not_found'])
  })
})

const unchanged = async (project: { id: string; slug: string }) => {
  await expect.poll(() => running('here', project.id)).toBe(1)
  await expect.poll(() => scene.serves('here', project.slug)).toBe('upstreams')
  expect((await on(project)('GET', '')).body.data).toMatchObject({ location: 'local', status: 'live' })
  expect(running('cloud', project.id)).toBe(0)
  const left = () => scene.cloud.database.db.selectFrom('projects').select('id').where('id', '=', project.id).execute()
  await expect.poll(left).toEqual([])
}

describe('a failure changes nothing on either side', () => {
  test('when the build in the cloud fails', async () => {
    const project = await scene.makeLive({ name: 'Unbuilt' })
    scene.cloud.drivers.runtime.whileBuilding = () => Promise.reject(new Error('no'))
    const { status, body } = await scene.move(project.id, 'to-cloud', { withData: true })
    expect([status, body.code]).toEqual([409, 'transfer_failed'])
    await unchanged(project)
  })

  test('when it does not become healthy in the cloud', async () => {
    const project = await scene.makeLive({ name: 'Ill', healthCheck: { timeoutSeconds: 1 } })
    scene.cloud.drivers.runtime.isHealthy = false
    const { status, body } = await scene.move(project.id, 'to-cloud', { withData: true })
    expect([status, body.code]).toEqual([409, 'transfer_failed'])
    expect(body.error).toContain('could not be started at the target')
    await unchanged(project)
  })
})

test('a user who may not delete a project may not transfer it', async () => {
  const project = await scene.makeLive()
  const { status, body } = await call(scene.here, scene.people.member.token, 'POST /projects/:id/transfer/to-cloud', {
    params: { id: project.id },
  })
  expect([status, body.permission]).toEqual([403, 'project:admin'])
})

describe('DELETE /transfers/:id', () => {
  const request = (side: 'here' | 'cloud', token: string, id: string) =>
    call(scene[side], token, 'DELETE /transfers/:id', { params: { id } })
  const open = async (side: 'here' | 'cloud', token: string) => (await call(scene[side], token, 'GET /transfers')).body.data

  /** A move during the build in the cloud, which does not end by itself. */
  async function moving(name: string) {
    const project = await scene.makeLive({ name })
    const begun = Promise.withResolvers<void>()
    scene.cloud.drivers.runtime.whileBuilding = (_request, _report, abort) => {
      begun.resolve()
      return new Promise((_, reject) => abort.addEventListener('abort', () => reject(abort.reason)))
    }
    const answer = scene.move(project.id, 'to-cloud', { withData: true })
    await begun.promise
    return { project, answer, id: (await on(project)('GET', '/transfer')).body.data.id as string }
  }

  test.each(['here', 'cloud'] as const)(
    'cancels a transfer %s: everything is rolled back, and the project can be transferred again',
    async (side) => {
      const { project, answer, id } = await moving(`Off ${side}`)
      const colleague = side === 'here' ? scene.people.admin : scene.cloudPeople.admin
      const way = side === 'here' ? 'departure' : 'arrival'
      expect(await open(side, colleague.token)).toEqual([
        expect.objectContaining({ transfer: id, projectId: project.id, side: way }),
      ])
      expect((await request(side, colleague.token, id)).status).toBe(204)
      const { status, body } = await answer
      expect([status, body.error]).toEqual([409, expect.stringMatching(/cancelled.*nothing was changed/)])
      await unchanged(project)
      await expect
        .poll(async () => [await open('here', scene.people.owner.token), await open('cloud', scene.cloudPeople.owner.token)])
        .toEqual([[], []])
      expect((await request(side, colleague.token, id)).status).toBe(409)
      scene.cloud.drivers.runtime.whileBuilding = async () => {}
      expect((await scene.move(project.id, 'to-cloud', { withData: true })).status).toBe(200)
    },
  )

  test('an abandoned export blocks transfers of its project, says so, and can be cancelled by another member', async () => {
    const project = await scene.makeLive({ name: 'Exported' })
    const { recipient } = await newBundleKey()
    const depart = (transfer: string) => on(project)('POST', '/departure', { transfer, recipient })
    const [left, next] = [newId('trf'), newId('trf')]
    expect((await depart(left)).status).toBe(202)
    const { status, body } = await depart(next)
    expect([status, body.code, body.error]).toEqual([409, 'work_in_progress', expect.stringContaining(`--cancel ${left}`)])
    const { admin, member } = scene.people
    const outsider = (await makePeople(scene.here)).owner
    const limited = await makeToken(scene.here, scene.people.owner, { projectIds: [project.id] })
    const refused = await Promise.all([outsider.token, member.token, limited].map((token) => request('here', token, left)))
    expect(refused.map((one) => one.status)).toEqual([404, 403, 403])
    expect(await open('here', outsider.token)).toEqual([])
    expect((await request('here', admin.token, left)).status).toBe(204)
    expect((await depart(next)).status).toBe(202)
    expect((await request('here', admin.token, next)).status).toBe(204)
  })

  test('a link removed while no control plane runs the transfer does not block the project', async () => {
    const { people, here } = scene
    const project = await scene.makeLive({ name: 'Unlinked' })
    const { recipient } = await newBundleKey()
    const id = newId('trf')
    await on(project)('POST', '/departure', { transfer: id, recipient })
    await call(here, people.owner.token, 'DELETE /cloud/link')
    try {
      // The state that a control plane leaves that was killed in the middle, and comes back.
      await here.database.transaction(async ({ db, enqueue }) => {
        await insertTransfer(db, {
          ...{ id, organizationId: people.organizationId, projectId: project.id, projectName: 'Unlinked', phase: 'sending' },
          ...{ direction: 'to_cloud', cloud: `${scene.cloudUrl} ${scene.cloudPeople.organizationId}`, withData: 1, bytesDone: 0 },
          ...{ warnings: '[]', createdBy: people.owner.userId, createdAt: Date.now() },
        })
        await enqueue(transferKind.of(people), { id })
      })
      await expect.poll(async () => (await on(project)('GET', '/transfer')).body.data.phase).toBe('failed')
      expect(await open('here', people.owner.token)).toEqual([])
      expect(scene.serves('here', project.slug)).toBe('upstreams')
    } finally {
      await scene.link()
    }
  })
})
