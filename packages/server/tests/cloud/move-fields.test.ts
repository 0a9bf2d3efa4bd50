// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { callsOn } from '../kit/projects.ts'
import { setTransferScene, type TransferScene } from './transfer-scene.ts'

/** A project moves to the cloud and back. Each of its fields is equal on every side, or is one of the named exceptions. */

type Side = 'here' | 'cloud'
interface Exception {
  field: RegExp
  /** Where it may differ from before: in the cloud, after the way back, or both. */
  at: 'there' | 'back' | 'both'
  why: string
}

const exceptions: Exception[] = [
  { field: /^record\.location$/, at: 'there', why: 'the place is what changes' },
  { field: /^record\.organizationId$/, at: 'there', why: 'it is the account in the cloud' },
  { field: /^record\.updatedAt$/, at: 'both', why: 'the move is a change' },
  { field: /^record\.pendingChanges/, at: 'both', why: 'the move deploys the project with the settings that waited' },
  { field: /^record\.(url|routes\.\d+\.(url|hostname|tls|state|reason|verified))$/, at: 'there', why: 'another edge serves it' },
  {
    field: /^record\.source\.(kind|path|provider|uploadSessionId)$/,
    at: 'there',
    why: 'the cloud has no folders: its files are an upload',
  },
  {
    field: /^row\.(organizationId|gitProvider|localPath|uploadSessionId|carried)$/,
    at: 'there',
    why: 'account and source, as above',
  },
  { field: /^row\.updatedAt$/, at: 'both', why: 'the move is a change' },
  { field: /^row\.envVersion$/, at: 'both', why: 'it counts how often variables were written, and the move writes them' },
  { field: /^row\.(cloneToken|cloneTokenSetAt)$/, at: 'both', why: 'sealed anew by each instance, which notes when' },
  { field: /^row\.presence$/, at: 'both', why: 'checked by the place that serves it' },
  { field: /^environments\.\d+\.(id|url|createdAt|updatedAt)$/, at: 'both', why: 'each instance makes its own id and address' },
  {
    field: /^environments\.\d+\.(status|deploymentId|liveDeploymentId)$/,
    at: 'both',
    why: 'production has a deployment of the move',
  },
  { field: /^env\.\d+\.updatedAt$/, at: 'both', why: 'recorded by the move' },
  {
    field: /^domains\.\d+\.(records|verified|state|tls|reason|createdAt)/,
    at: 'there',
    why: 'the claim is proven anew in the cloud',
  },
  { field: /^domains\.\d+\.hostname\.free$/, at: 'there', why: 'another base domain' },
  { field: /^rules/, at: 'there', why: 'a cloud has no edge rules; they come back' },
  { field: /^grants\.carol\./, at: 'there', why: 'carol is no member there; the grant comes back' },
]

let scene: TransferScene
beforeAll(async () => {
  scene = await setTransferScene()
})
afterAll(() => scene?.end())

const body = {
  ...{ name: 'Traveller', slug: 'traveller', installCommand: 'true', buildCommand: 'true' },
  ...{ rollbackWindow: 3, sleepMode: 'always_on', autoDeploy: false, previews: true, previewsMaximum: 4, previewsMaxAgeDays: 9 },
  healthCheck: { path: '/health', timeoutSeconds: 30, intervalSeconds: 7 },
}

/** The same person on both sides has the same e-mail address. */
async function makeSamePerson(person: { userId: string }, side: Side, email: string) {
  await scene[side].database.db.updateTable('users').set({ email }).where('id', '=', person.userId).execute()
}

const peopleOf = (side: Side) => (side === 'here' ? scene.people : scene.cloudPeople)
const at = (side: Side, id: string) => callsOn(scene[side], peopleOf(side).owner.token)({ id })

/** All leaves of a JSON value by their dotted paths. */
function leaves(value: unknown, path: string): [string, unknown][] {
  if (value === null || typeof value !== 'object' || (Array.isArray(value) && value.length === 0)) return [[path, value]]
  return Object.entries(value).flatMap(([name, part]) => leaves(part, `${path}.${name}`))
}

async function snapshot(side: Side, id: string): Promise<Map<string, unknown>> {
  const on = at(side, id)
  const read = async (path: `/${string}` | '') => (await on('GET', path)).body.data
  const { db } = scene[side].database
  const row = await db.selectFrom('projects').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const grants = ((await read('/grants')) as { email: string; level: string }[]).map(({ email, level }) => [email, level])
  const rules = side === 'here' ? await read('/route-rules') : []
  return new Map([
    ...leaves(await read(''), 'record'),
    ...leaves(row, 'row'),
    ...leaves(await read('/environments'), 'environments'),
    ...leaves(await read('/env'), 'env'),
    ...leaves((await scene[side].projects.openEnv(id, 'production')).values, 'values'),
    ...leaves((await scene[side].projects.openEnv(id, 'staging')).values, 'stagingValues'),
    ...leaves(await domainsOf(side, id), 'domains'),
    ...leaves(rules, 'rules'),
    ...leaves(Object.fromEntries(grants.map(([email, level]) => [String(email).split('@')[0], { level }])), 'grants'),
    ['volume', await scene.volume(side, id)] as [string, unknown],
  ])
}

const domainsOf = async (side: Side, id: string) =>
  (await scene[side].database.db.selectFrom('domains').selectAll().where('projectId', '=', id).execute()).map(
    ({ hostname, isPrimary }) => ({ hostname, isPrimary }),
  )

const isExcepted = (field: string, where: 'there' | 'back') =>
  exceptions.some((one) => one.field.test(field) && (one.at === 'both' || one.at === where))

/** Fields that differ from before and are not named. */
function forgotten(before: Map<string, unknown>, after: Map<string, unknown>, where: 'there' | 'back'): string[] {
  const fields = new Set([...before.keys(), ...after.keys()])
  return [...fields]
    .filter((field) => JSON.stringify(before.get(field)) !== JSON.stringify(after.get(field)) && !isExcepted(field, where))
    .map((field) => `${field}: ${JSON.stringify(before.get(field))} -> ${JSON.stringify(after.get(field))}`)
}

async function makeTraveller() {
  const { people, cloudPeople, here } = scene
  await makeSamePerson(people.member, 'here', 'bob@example.test')
  await makeSamePerson(cloudPeople.member, 'cloud', 'bob@example.test')
  await makeSamePerson(people.admin, 'here', 'carol@example.test')
  const project = await scene.makeLive(body)
  const on = at('here', project.id)
  const sent = [
    await on('POST', '/environments', { name: 'Staging', type: 'development', branch: 'next' }),
    await on('PATCH', '/env', { environment: 'staging', upserts: [{ key: 'ONLY', value: 'staging', isSecret: true }] }),
    await on('PATCH', '/resources', { production: { cpuCores: 0.5, memoryMb: 200 }, build: { memoryMb: 700, diskMb: 900 } }),
    await on('PATCH', '/clone-token', { token: 'clone-secret' }),
    await on('POST', '/preview-variables', { fromProduction: true }),
    await on('POST', '/connect', { domain: 'shop.example.test' }),
    await on('POST', '/webhook-domain', { domain: 'shop.example.test' }),
    await on('POST', '/route-rules', { kind: 'rate-limit', pathPrefix: '/api', config: { requests: 5, windowSeconds: 1 } }),
    await on('PUT', '/grants', { userId: people.member.userId, level: 'read' }),
    await on('PUT', '/grants', { userId: people.admin.userId, level: 'write' }),
  ]
  expect(sent.filter(({ status }) => status >= 300)).toEqual([])
  await scene.setVolume('here', project.id, 'bytes of home')
  await here.database.db.updateTable('routeRules').set({ hits: 7 }).where('projectId', '=', project.id).execute()
  return project
}

describe('a transfer changes only the location', () => {
  test('the project is equal field by field before, in the cloud and after the return; warnings name the exceptions', async () => {
    const { people } = scene
    const project = await makeTraveller()
    const before = await snapshot('here', project.id)
    const deployments = await historyOf('here', project.id)
    // The spec shows no body: volumes come along.
    const there = await call(scene.here, people.owner.token, 'POST /projects/:id/transfer/to-cloud', {
      params: { id: project.id },
    })
    expect([there.status, there.body.data]).toEqual([200, { projectId: project.id, location: 'cloud' }])
    expect(forgotten(before, await snapshot('cloud', project.id), 'there')).toEqual([])
    expect((await historyOf('cloud', project.id)).slice(1)).toEqual(deployments)
    expect(there.body.warnings).toEqual([
      expect.stringMatching(/environment Staging/),
      expect.stringMatching(/edge rule ban/),
      expect.stringMatching(/edge rule rate-limit for \/api/),
      expect.stringMatching(/carol@example.test \(level write\)/),
    ])

    await scene.setVolume('cloud', project.id, 'bytes of the cloud')
    before.set('volume', 'bytes of the cloud')
    const back = await call(scene.here, people.owner.token, 'POST /projects/:id/transfer/to-self-hosted', {
      params: { id: project.id },
    })
    expect([back.status, back.body.data]).toEqual([200, { projectId: project.id, location: 'local' }])
    expect(forgotten(before, await snapshot('here', project.id), 'back')).toEqual([])
    expect((await historyOf('here', project.id)).slice(2)).toEqual(deployments)
    expect((await at('here', project.id)('GET', '')).body.data.pendingChanges).toEqual([])
    expect(back.body.warnings).toEqual([expect.stringMatching(/environment Staging/)])
  })

  test('withData false leaves volumes behind, and warnings names them', async () => {
    const project = await scene.makeLive()
    await scene.setVolume('here', project.id, 'stays')
    const { body } = await scene.move(project.id, 'to-cloud', { withData: false })
    expect(body.warnings).toEqual([
      expect.stringMatching(/Volume data was not transferred/),
      expect.stringMatching(/edge rule ban/),
    ])
    expect(await scene.volume('cloud', project.id)).not.toBe('stays')
  })
})

/** Newest first, less what the move itself changes: the live one is superseded, and people have other ids. */
async function historyOf(side: Side, id: string) {
  const { body } = await at(side, id)('GET', '/deployments')
  return body.data.map(({ status, createdBy: _, ...rest }: { status: string; createdBy: string }) => ({
    ...rest,
    status: status === 'live' ? 'superseded' : status,
  }))
}
