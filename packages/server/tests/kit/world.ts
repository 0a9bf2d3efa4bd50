import type { AnyRoute, ObjectKind } from '@berth/contract'
import { openSession } from '../../src/modules/access/sign-in.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { newId } from '../../src/platform/db/ids.ts'
import type { Db } from '../../src/platform/db/schema.ts'
import { makeRestore, makeRun } from './backups.ts'
import { type CallInput, call } from './call.ts'
import type { TestInstance } from './instance.ts'
import type { People } from './people.ts'
import { makeProject } from './projects.ts'
import { sampleBodies } from './sample-bodies.ts'

/** A project of an organisation with one real object of each kind that a path or a body can name, all owned by the owner. */
export interface World {
  people: People
  ids: Partial<Record<ObjectKind, string>>
  /** A row's input, with this world's objects in its path, or where its body names one. */
  inputFor(row: AnyRoute): CallInput
  /** The stored object; undefined if it was deleted. */
  stored(kind: ObjectKind): Promise<unknown>
}

interface Scene {
  instance: TestInstance
  people: People
  projectId: string
  ids: Partial<Record<ObjectKind, string>>
}

/** Makers in the order of creation. If a kind that a module loads is missing here, objects-of-others.test.ts fails. */
const makers: Partial<Record<ObjectKind, (scene: Scene) => Promise<string>>> = {
  organization: async ({ people }) => people.organizationId,
  member: async ({ people }) => people.member.userId,
  project: async ({ projectId }) => projectId,
  savedProject: async ({ projectId }) => projectId,
  environment: (scene) => made(scene, 'POST /projects/:id/environments'),
  routeRule: (scene) => made(scene, 'POST /projects/:id/route-rules'),
  domain: connectDomain,
  uploadSession: (scene) => made(scene, 'POST /projects/folder/session', { projectId: scene.projectId }),
  deployment: (scene) => made(scene, 'POST /deployments/build/access', { projectId: scene.projectId }),
  volume: insertVolume,
  deployHook: (scene) => made(scene, 'POST /projects/:id/deploy-hooks'),
  cronJob: (scene) => made(scene, 'POST /projects/:id/cron-jobs'),
  cronRun: insertCronRun,
  link: insertLink,
  server: (scene) => made(scene, 'POST /servers'),
  registryLogin: (scene) => made(scene, 'POST /registries'),
  token: (scene) => made(scene, 'POST /tokens'),
  session: insertSession,
  passkey: insertPasskey,
  invitation: (scene) => made(scene, 'POST /invitations', { email: `${newId('inv')}@example.test` }),
  channel: (scene) => made(scene, 'POST /notifications/channels'),
  subscription: (scene) => made(scene, 'PUT /notifications/subscriptions', { channelId: scene.ids.channel }),
  delivery: ({ instance, people, projectId }) => insertDelivery(instance.database.db, people, projectId),
  // Not a local one, which only operators may create.
  backupDestination: (scene) => made(scene, 'POST /backup-destinations', { kind: 's3', config: bucket }),
  backupPolicy: (scene) =>
    made(scene, 'POST /projects/:projectId/backup-policies', { destinationId: scene.ids.backupDestination }),
  backupRun: insertBackupRun,
  backupRestore: insertBackupRestore,
}

const bucket = { bucket: 'backups', accessKeyId: 'key', secretAccessKey: 'secret' }

const tables: Partial<Record<ObjectKind, readonly [table: string, key: string]>> = {
  organization: ['organizations', 'id'],
  member: ['members', 'userId'],
  project: ['projects', 'id'],
  savedProject: ['projects', 'id'],
  environment: ['environments', 'id'],
  routeRule: ['routeRules', 'id'],
  domain: ['domains', 'hostname'],
  uploadSession: ['uploadSessions', 'id'],
  deployment: ['deployments', 'id'],
  volume: ['volumes', 'id'],
  deployHook: ['deployHooks', 'id'],
  cronJob: ['cronJobs', 'id'],
  cronRun: ['cronRuns', 'id'],
  link: ['projectLinks', 'id'],
  server: ['servers', 'id'],
  registryLogin: ['registryLogins', 'id'],
  token: ['tokens', 'id'],
  session: ['sessions', 'id'],
  passkey: ['passkeys', 'id'],
  invitation: ['invitations', 'id'],
  channel: ['notificationChannels', 'id'],
  subscription: ['notificationSubscriptions', 'id'],
  delivery: ['deliveries', 'id'],
  backupDestination: ['backupDestinations', 'id'],
  backupPolicy: ['backupPolicies', 'id'],
  backupRun: ['backupRuns', 'id'],
  backupRestore: ['backupRestores', 'id'],
}

/** `without`: kinds for which this instance has no route. */
export async function makeWorld(instance: TestInstance, people: People, without: readonly ObjectKind[] = []): Promise<World> {
  const project = await makeProject(instance, people.owner.token, { gitUrl: 'https://git.example.test/acme/shop.git' })
  const ids: World['ids'] = {}
  for (const [kind, make] of Object.entries(makers).filter(([name]) => !without.includes(name as ObjectKind)))
    ids[kind as ObjectKind] = await make({ instance, people, projectId: project.id, ids })
  return {
    people,
    ids,
    inputFor: (row) => inputFor(row, ids),
    stored(kind) {
      const [table, key] = tables[kind] ?? []
      const { db } = instance.database
      return db
        .selectFrom(table as 'projects')
        .selectAll()
        .where(key as 'id', '=', ids[kind] as string)
        .executeTakeFirst()
    },
  }
}

/** Builds the input of a call that names the world's objects. Without calls, only `lastUsedAt` of the caller's token changes. */
function inputFor(row: AnyRoute, ids: World['ids']): CallInput {
  const id = (row.on && ids[row.on as ObjectKind]) ?? 'of_a_kind_not_built_yet'
  const names = [...row.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string)
  // If the path has two params, the first is the project of the object.
  const params = Object.fromEntries(names.map((name, at) => [name, at < names.length - 1 ? (ids.project as string) : id]))
  const sample = row.body ? (sampleBodies[row.at] ?? {}) : undefined
  const body = row.upload ? 'not gzip' : row.inBody ? { ...sample, [row.inBody]: id } : sample
  return { params, body, ...(row.upload ? { headers: { 'content-type': row.upload.contentType } } : {}) }
}

async function made({ instance, people, projectId }: Scene, at: 'POST /tokens' | `P${string} /${string}`, more: object = {}) {
  const input = { params: { id: projectId, projectId }, body: { ...sampleBodies[at], ...more } }
  const { status, body } = await call(instance, people.owner.token, at as 'POST /tokens', input)
  const id = body.data?.id ?? body.data?.deploymentId ?? body.data?.sessionId
  if (status > 202 || !id) throw new Error(`${at} created no object: ${status} ${JSON.stringify(body)}`)
  return id as string
}

/** A path names a domain by its host name, which an organisation can connect only once. */
async function connectDomain(scene: Scene): Promise<string> {
  const domain = `${newId('dom').replace('_', '-')}.example.test`
  await made(scene, 'POST /projects/:id/connect', { domain })
  return domain
}

async function insertSession({ instance, people }: Scene): Promise<string> {
  const client = { ip: '203.0.113.5', userAgent: 'test' }
  return (await openSession(instance.database.db, people.owner.userId, client, { clock: systemClock })).sessionId
}

async function insertPasskey({ instance, people }: Scene): Promise<string> {
  const id = newId('psk')
  const key = { credentialId: id, publicKey: 'none', hostname: 'berth.test', counter: 0, isSynced: 0 as const }
  const row = { id, userId: people.owner.userId, name: 'Laptop', ...key, createdAt: Date.now(), lastUsedAt: null }
  await instance.database.db.insertInto('passkeys').values(row).execute()
  return id
}

async function insertVolume({ instance, projectId }: Scene): Promise<string> {
  const named = { projectId, environment: 'production', service: '', name: 'unmounted' }
  const row = { id: newId('vol'), ...named, runtime: 'process' as const, createdAt: Date.now() }
  await instance.database.db.insertInto('volumes').values(row).execute()
  return row.id
}

async function insertCronRun({ instance, projectId, ids }: Scene): Promise<string> {
  const of = { cronJobId: ids.cronJob as string, projectId, environment: 'production' }
  const now = Date.now()
  const row = { id: newId('crr'), ...of, status: 'succeeded', trigger: 'manual', createdAt: now, finishedAt: now } as const
  const empty = { scheduledFor: null, deploymentId: null, serverId: null, instanceId: null, logPosition: null, error: null }
  await instance.database.db
    .insertInto('cronRuns')
    .values({ ...row, ...empty, exitCode: 0, startedAt: now })
    .execute()
  return row.id
}

/** The service is the project itself, so that the world has one project only. */
async function insertLink({ instance, people, projectId }: Scene): Promise<string> {
  const row = { id: newId('lnk'), projectId, serviceProjectId: projectId, environment: 'production', prefix: null }
  await instance.database.db
    .insertInto('projectLinks')
    .values({ ...row, host: 'postgres.berth.internal', createdBy: people.owner.userId, createdAt: Date.now() })
    .execute()
  return row.id
}

async function insertDelivery(db: Db, { owner }: People, projectId: string): Promise<string> {
  const [id, announcementId] = [newId('ndl'), newId('job')]
  const { organizationId, userId } = owner
  const common = { organizationId, category: 'deploy.failed' as const, createdAt: Date.now() }
  await db
    .insertInto('announcements')
    .values({ ...common, id: announcementId, projectId, subject: 'x', text: 'x', data: '{}', sequence: 1 })
    .execute()
  await db
    .insertInto('deliveries')
    .values({
      ...common,
      id,
      announcementId,
      userId,
      channelId: 'nch_gone',
      channelKind: 'in_app',
      status: 'sent',
      attempts: 1,
      joinedCount: 0,
      sentAt: Date.now(),
    })
    .execute()
  return id
}

/** A finished run: it does not change by itself. */
async function insertBackupRun({ instance, people, projectId, ids }: Scene): Promise<string> {
  return (await makeRun(instance, { people, projectId, policyId: ids.backupPolicy, destinationId: ids.backupDestination })).id
}

async function insertBackupRestore({ instance, people, projectId, ids }: Scene): Promise<string> {
  return (await makeRestore(instance, { people, projectId, runId: ids.backupRun as string })).id
}
