import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { forgetKind } from '../../src/modules/cloud/forget-job.ts'
import { watchKind } from '../../src/modules/cloud/watch-job.ts'
import { hashToken } from '../../src/platform/secrets/token.ts'
import { makeRestore, makeRun } from '../kit/backups.ts'
import { call } from '../kit/call.ts'
import { makeToken } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { setTransferScene, type TransferScene } from './transfer-scene.ts'

let scene: TransferScene
beforeAll(async () => {
  scene = await setTransferScene()
})
afterAll(() => scene?.end())

const on = (project: { id: string }) => callsOn(scene.here, scene.people.owner.token)(project)
const inCloud = (project: { id: string }) => callsOn(scene.cloud, scene.cloudPeople.owner.token)(project)
const request = (at: Parameters<typeof call>[2], input?: Parameters<typeof call>[3]) =>
  call(scene.here, scene.people.owner.token, at, input)
const copyHere = (id: string) => scene.here.database.db.selectFrom('projects').select('id').where('id', '=', id).execute()
const runJob = async (kind: { kind: string }, payload: object = {}) => {
  await scene.here.database.transaction(({ enqueue }) => enqueue(kind, payload))
  await scene.here.jobs.whenIdle()
}

describe('runs and restores of a project that lives in the cloud', () => {
  test('are listed where the project is; a restore here is 409; after the return they are unchanged', async () => {
    const { people } = scene
    const project = await scene.makeLive({ name: 'Saved' })
    const run = await makeRun(scene.here, { people, projectId: project.id, status: 'succeeded', sizeBytes: 7 })
    const staged = await makeRestore(scene.here, {
      ...{ people, projectId: project.id, runId: run.id, status: 'staged', tokenHash: hashToken('brc_token') },
    })
    const ended = await makeRestore(scene.here, { people, projectId: project.id, runId: run.id })
    const before = (await on(project)('GET', '/backup-runs')).body.data
    expect((await scene.move(project.id, 'to-cloud')).status).toBe(200)

    expect((await on(project)('GET', '/backup-runs')).body.data).toEqual(before)
    const prepare = { params: { runId: run.id } }
    const refused = [
      await request('POST /backup-runs/:runId/restore/prepare', prepare),
      await request('POST /backup-restores/:restoreId/apply', {
        params: { restoreId: staged.id },
        body: { confirmationToken: 'brc_token' },
      }),
      await call(scene.cloud, scene.cloudPeople.owner.token, 'POST /backup-runs/:runId/restore/prepare', prepare),
    ]
    expect(refused.map(({ status }) => status)).toEqual([409, 409, 409])
    expect(refused[0]?.body.error).toContain('Transfer it back')
    expect(refused[2]?.body.error).toContain('Transfer the project back')
    const inTheCloud = await call(scene.cloud, scene.cloudPeople.owner.token, 'GET /backup-restores/:restoreId', {
      params: { restoreId: ended.id },
    })
    expect(inTheCloud.body.data).toMatchObject({ id: ended.id, runId: run.id, status: 'cancelled' })
    const [old] = (await inCloud(project)('GET', '/deployments')).body.data.slice(1)
    for (const act of ['redeploy', 'rollback'])
      expect((await request(`POST /deployments/:id/${act}`, { params: { id: old.id } })).status).toBe(409)

    expect((await scene.move(project.id, 'to-self-hosted')).status).toBe(200)
    expect((await on(project)('GET', '/backup-runs')).body.data).toEqual(before)
  })
})

describe('the deletion of a transferred project', () => {
  test('through this instance: its hidden copy is removed at once', async () => {
    const project = await scene.makeLive({ name: 'Deleted' })
    await scene.move(project.id, 'to-cloud')
    expect(await copyHere(project.id)).toHaveLength(1)
    expect((await on(project)('DELETE', '')).status).toBe(200)
    await expect.poll(() => copyHere(project.id)).toEqual([])
    const left = () => scene.here.database.db.selectFrom('volumes').select('id').where('projectId', '=', project.id).execute()
    await expect.poll(left).toEqual([])
  })

  test('in the cloud: its hidden copy is removed after it was missing for a while; one that a limited token cannot see stays', async () => {
    const [gone, kept] = [await scene.makeLive({ name: 'Gone' }), await scene.makeLive({ name: 'Kept' })]
    for (const { id } of [gone, kept]) await scene.move(id, 'to-cloud')
    await inCloud(gone)('DELETE', '')
    const { db } = scene.here.database
    await runJob(watchKind)
    const [row] = await db.selectFrom('cloudProjects').selectAll().where('projectId', '=', gone.id).execute()
    expect(row?.missingSince).toEqual(expect.any(Number))
    expect(await copyHere(gone.id)).toHaveLength(1)
    await db.updateTable('cloudProjects').set({ missingSince: 1 }).execute()
    await runJob(watchKind)
    await expect.poll(() => copyHere(gone.id)).toEqual([])
    expect(await copyHere(kept.id)).toHaveLength(1)

    await scene.link(await makeToken(scene.cloud, scene.cloudPeople.owner, { projectIds: [gone.id] }))
    await db.updateTable('cloudProjects').set({ missingSince: 1 }).execute()
    await runJob(watchKind)
    await scene.here.jobs.whenIdle()
    expect(await copyHere(kept.id)).toHaveLength(1)
    await scene.link()
  })

  test('removing the copy of a project that was never here changes nothing', async () => {
    await runJob(forgetKind, { projectId: 'prj_aaaaaaaaaaaaaaaaaaaa' })
  })
})

test('a token limited to a project transfers it to the cloud and back, and nothing else', async () => {
  const [project, other] = [await scene.makeLive({ name: 'Limited' }), await scene.makeLive({ name: 'Other' })]
  const token = await makeToken(scene.here, scene.people.owner, { projectIds: [project.id] })
  const move = (id: string, to: 'to-cloud' | 'to-self-hosted') =>
    call(scene.here, token, `POST /projects/:id/transfer/${to}`, { params: { id } })
  expect((await move(project.id, 'to-cloud')).status).toBe(200)
  await scene.move(other.id, 'to-cloud')
  expect((await move(other.id, 'to-self-hosted')).status).toBe(404)
  expect((await move(project.id, 'to-self-hosted')).body).toMatchObject({ data: { location: 'local' } })
  const cloudOnly = await makeProject(scene.cloud, scene.cloudPeople.owner.token)
  const made = await request('POST /tokens', { body: { name: 'of the cloud', projectIds: [cloudOnly.id, project.id] } })
  expect([made.status, made.body.data?.projectIds]).toEqual([201, [cloudOnly.id, project.id]])
})

const app = (message: string) =>
  tarball(
    { name: 'package.json', content: JSON.stringify({ name: 'app', scripts: { start: 'node server.js' } }) },
    { name: 'server.js', content: `// ${message}` },
  )

/** Session, upload and scan on this instance, without naming the project. */
async function upload(files: Buffer): Promise<string> {
  const { body } = await request('POST /projects/folder/session', {})
  const { sessionId } = body.data
  const sent = await fetch(`${scene.hereUrl}/api/projects/folder/upload/${sessionId}`, {
    method: 'POST',
    headers: { 'content-type': 'application/gzip', authorization: `Bearer ${scene.people.owner.token}` },
    body: new Uint8Array(files),
  })
  expect(sent.status).toBe(200)
  expect((await request('POST /projects/folder/scan/:sessionId', { params: { sessionId } })).body.data.name).toBe('app')
  return sessionId
}

describe('the folder flow without a hint', () => {
  test('works for a project in the cloud: with ensure, PATCH and a deployment', async () => {
    const project = await makeProject(scene.cloud, scene.cloudPeople.owner.token, { name: 'Far' })
    const first = await upload(app('first'))
    const ensured = await request('POST /projects/ensure', {
      body: { projectId: project.id, name: 'Far', gitProvider: 'upload', uploadSessionId: first },
    })
    expect([ensured.status, ensured.body.data?.source?.kind]).toEqual([200, 'upload'])
    const deployed = await request('POST /deployments/build/access', { body: { projectId: project.id, uploadSessionId: first } })
    expect(deployed.status).toBe(202)
    const patched = await on(project)('PATCH', '', { uploadSessionId: await upload(app('second')) })
    expect([patched.status, patched.body.data?.location]).toEqual([200, 'cloud'])
    const again = await request('POST /deployments/build/access', {
      body: { projectId: project.id, uploadSessionId: await upload(app('third')) },
    })
    expect(again.status).toBe(202)
    const status = async () =>
      (await request('GET /deployments/:id', { params: { id: again.body.data.deploymentId } })).body.data.status
    await expect.poll(status).toBe('live')
  })

  test('409 before anything was uploaded; an unknown session gets the response of the cloud', async () => {
    const project = await makeProject(scene.cloud, scene.cloudPeople.owner.token)
    const { body } = await request('POST /projects/folder/session', {})
    const deploy = (uploadSessionId: string) =>
      request('POST /deployments/build/access', { body: { projectId: project.id, uploadSessionId } })
    expect((await deploy(body.data.sessionId)).status).toBe(409)
    expect((await deploy('upl_aaaaaaaaaaaaaaaaaaaa')).status).toBe(404)
  })
})

describe('backups of a project in the cloud', () => {
  test('GET /backup-destinations?projectId= lists those of the side where the project is', async () => {
    const { people, cloudPeople } = scene
    const make = (side: 'here' | 'cloud', token: string) =>
      call(scene[side], token, 'POST /backup-destinations', {
        body: {
          ...{ name: side, kind: 's3' },
          config: { bucket: 'backups', region: 'eu-central-1', accessKeyId: 'key', secretAccessKey: 'secret' },
        },
      })
    const [here, there] = [await make('here', people.owner.token), await make('cloud', cloudPeople.owner.token)]
    expect([here.status, there.status]).toEqual([201, 201])
    const far = await makeProject(scene.cloud, cloudPeople.owner.token)
    const near = await makeProject(scene.here, people.owner.token)
    const names = async (projectId: string) => {
      const { status, body } = await request('GET /backup-destinations', { query: { projectId } })
      return status === 200 ? body.data.map(({ name }: { name: string }) => name) : status
    }
    expect([await names(far.id), await names(near.id), await names('prj_aaaaaaaaaaaaaaaaaaaa')]).toEqual([
      ['cloud'],
      ['here'],
      [],
    ])
    const policy = await on(far)('POST', '/backup-policies', { destinationId: there.body.data.id })
    expect(policy.status).toBe(201)
    const { body } = await request('PATCH /backup-policies/:policyId', {
      params: { policyId: policy.body.data.id },
      body: { enableWebhook: true },
    })
    const hook = (token: string) =>
      call(scene.here, null, 'POST /webhooks/backup', { headers: { authorization: `Bearer ${token}` } })
    const run = await hook(body.data.webhookToken)
    expect([run.status < 300, run.body.data?.runId]).toEqual([true, expect.stringMatching(/^bkr_/)])
    const unknown = await hook('bwh_unknown')
    expect([unknown.status, unknown.body]).toEqual([404, (await call(scene.cloud, null, 'POST /webhooks/backup')).body])
  })
})

test('failures of cloud projects notify the members of the linked organisation', async () => {
  const project = await makeProject(scene.cloud, scene.cloudPeople.owner.token, { name: 'Failing' })
  await runJob(watchKind)
  await scene.cloud.database.transaction(({ announce }) =>
    announce('deploy.failed', {
      ...{ organizationId: scene.cloudPeople.organizationId, projectId: project.id },
      ...{ subject: 'Failing was not deployed', text: 'It did not build', data: {} },
    }),
  )
  await scene.cloud.jobs.whenIdle()
  const feed = async (token: string) =>
    (await call(scene.here, token, 'GET /notifications/deliveries')).body.data.filter(
      ({ projectId }: { projectId: string }) => projectId === project.id,
    )
  await runJob(watchKind)
  await runJob(watchKind)
  await expect
    .poll(() => feed(scene.people.member.token))
    .toMatchObject([{ category: 'deploy.failed', subject: 'Failing was not deployed' }])
})

test('a revoked link is 503 cloud_unreachable everywhere, and says what to do', async () => {
  const project = await makeProject(scene.cloud, scene.cloudPeople.owner.token)
  const local = await makeProject(scene.here, scene.people.owner.token)
  const token = await makeToken(scene.cloud, scene.cloudPeople.owner)
  await scene.link(token)
  await scene.cloud.database.db.deleteFrom('tokens').where('secretHash', '=', hashToken(token)).execute()
  const answers = [
    await on(project)('GET', ''),
    await request('POST /gitprovider/connect', { body: {} }),
    await scene.move(local.id, 'to-cloud'),
    await scene.move(project.id, 'to-self-hosted'),
    await request('GET /backup-destinations', { query: { projectId: project.id } }),
  ]
  for (const { status, body } of answers)
    expect([status, body.code, body.error]).toEqual([
      503,
      'cloud_unreachable',
      expect.stringContaining('link the organisation again'),
    ])
  expect((await request('GET /gitprovider/status')).body).toMatchObject({ cloudUnreachable: true })
  expect((await request('GET /cloud/link')).body.data.reachable).toBe(false)
  await scene.link()
})

test('the live version (the third of three uploads) serves at the same port in the cloud and after the return', async () => {
  const project = await makeProject(scene.here, scene.people.owner.token, { name: 'Versions' })
  const versions = ['one', 'two', 'three'].map((message) => app(message))
  for (const files of versions) await deployUpload(project.id, await upload(files))
  const ports = [await liveOf('here', project.id)]
  expect((await scene.move(project.id, 'to-cloud')).status).toBe(200)
  ports.push(await liveOf('cloud', project.id))
  expect((await scene.move(project.id, 'to-self-hosted')).status).toBe(200)
  ports.push(await liveOf('here', project.id))
  const plain = await request('POST /deployments/build/access', { body: { projectId: project.id } })
  await untilLive(plain.body.data.deploymentId)
  ports.push(await liveOf('here', project.id))
  const third = versions[2]?.toString('base64')
  expect(ports.map(({ files }) => files)).toEqual([third, third, third, third])
  expect(new Set(ports.map(({ port }) => port)).size).toBe(1)

  async function liveOf(side: 'here' | 'cloud', id: string) {
    const { db } = scene[side].database
    const row = await db
      .selectFrom('deployments')
      .select(['source', 'plan'])
      .where('projectId', '=', id)
      .where('status', '=', 'live')
      .executeTakeFirstOrThrow()
    const { sessionId } = JSON.parse(row.source)
    const files = readFileSync(scene[side].projects.uploadFile(sessionId)).toString('base64')
    return { files, port: JSON.parse(row.plan as string).units[0].port }
  }
})

async function deployUpload(projectId: string, uploadSessionId: string): Promise<void> {
  const { body } = await request('POST /deployments/build/access', { body: { projectId, uploadSessionId } })
  await untilLive(body.data.deploymentId)
}

const untilLive = (id: string) =>
  expect.poll(async () => (await request('GET /deployments/:id', { params: { id } })).body.data.status).toBe('live')
