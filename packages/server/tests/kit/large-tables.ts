import { sql } from 'kysely'
import type { Db } from '../../src/platform/db/schema.ts'

export interface TableSizes {
  /** Projects of the organisation, each with an environment, a domain, deployments and backup runs. */
  projects: number
  /** Further deployments and backup runs of the first project. */
  ofFirstProject: number
  members: number
  /** Deliveries of each member; the oldest tenth are in-app deliveries (the feed). An instance keeps at most 2,000 of a member. */
  deliveriesPerMember: number
  auditEntries: number
}

export interface LargeOrganization {
  organizationId: string
  /** A project created with the API; the others are copies of its rows. */
  projectId: string
  /** Member whose feed entries are older than the deliveries to other channels. */
  userId: string
}

const deploymentsPerProject = 3

/** Fills the tables that grow with the use of an instance. The same statements run on both databases. */
export async function fillTables(db: Db, organization: LargeOrganization, sizes: TableSizes): Promise<void> {
  const { organizationId, projectId, userId } = organization
  await copyProjects(db, projectId, sizes.projects - 1)
  await addDeployments(db, projectId, sizes.ofFirstProject)
  await addBackupRuns(db, projectId, sizes.ofFirstProject)
  await sql`insert into "liveEnvironments" ("projectId", environment, "deploymentId", state, health, "changedAt")
    select "projectId", 'production', id, 'live', 'healthy', "createdAt" from deployments where status = 'live'`.execute(db)
  await addDeliveries(db, { organizationId, userId }, sizes)
  await sql`insert into "auditLog" (id, "organizationId", sequence, at, action, "userId", "objectKind", "objectId", changes, "requestId", "previousHash", hash)
    with ${series(sizes.auditEntries)}
    select 'aud_' || n, ${text(organizationId)}, 1000 + n, 1700000000000 + n, 'PATCH /projects/:id', 'usr_' || (n % 100),
      'project', 'prj_' || (n % ${sql.lit(Math.ceil(sizes.auditEntries / 100))}), '{}', 'req', '', '' from series`.execute(db)
  await sql.raw('analyze').execute(db)
}

const series = (count: number) =>
  sql`recursive series(n) as (select 1 where ${sql.lit(count)} > 0 union all select n + 1 from series where n < ${sql.lit(count)})`

const text = (value: string) => sql`cast(${value} as text)`

/** Copies a row `count` times; `changes` are SQL expressions of `n`. */
async function copyRow(
  db: Db,
  table: string,
  [keyColumn, key]: readonly [string, string],
  count: number,
  changes: Record<string, string>,
): Promise<void> {
  const sample = await db
    .selectFrom(table as 'projects')
    .selectAll()
    .where(keyColumn as 'id', '=', key)
    .executeTakeFirstOrThrow()
  const columns = Object.keys(sample)
  const values = columns.map((name) => changes[name] ?? `sample."${name}"`)
  const names = columns.map((name) => `"${name}"`)
  await sql`insert into ${sql.table(table)} (${sql.raw(names.join(', '))}) with ${series(count)}
    select ${sql.raw(values.join(', '))} from ${sql.table(table)} as sample cross join series
    where sample.${sql.ref(keyColumn)} = ${key}`.execute(db)
}

async function copyProjects(db: Db, projectId: string, count: number): Promise<void> {
  await copyRow(db, 'projects', ['id', projectId], count, {
    id: `'prj_copy' || n`,
    slug: `'project-' || n`,
    name: `'Project ' || n`,
    createdAt: 'sample."createdAt" + n',
  })
  await copyRow(db, 'environments', ['projectId', projectId], count, { id: `'env_copy' || n`, projectId: `'prj_copy' || n` })
  await sql`insert into domains (id, "projectId", "organizationId", "proofToken", hostname, "isPrimary", tls, state, "createdAt")
    select 'dom_' || id, id, "organizationId", slug, slug || '.customer.test', 1, 'none', 'pending', "createdAt" from projects
    where id like 'prj_copy%'`.execute(db)
  for (let number = 1; number <= deploymentsPerProject; number++) await addDeployment(db, number)
  await sql`insert into "backupRuns" (${backupColumns})
    select 'bkr_' || id, "organizationId", id, name, 'succeeded', "createdAt", 'scheduled', "createdAt", 0, 0, 0, 'none' from projects
    where id like 'prj_copy%'`.execute(db)
}

const deploymentColumns = sql.raw(
  'id, "projectId", "organizationId", environment, number, trigger, status, source, config, steps, force, "createdAt"',
)
const backupColumns = sql.raw(
  'id, "organizationId", "projectId", "projectName", status, "statusSince", trigger, "createdAt", "bytesDone", protected, proven, "postCommandState"',
)
const source = sql.lit(JSON.stringify({ kind: 'git', url: 'https://git.example.test/a.git', branch: 'main' }))

/** Adds a deployment to each copied project. */
const addDeployment = (db: Db, number: number) =>
  sql`insert into deployments (${deploymentColumns})
    select 'dep_' || id || '_' || ${sql.lit(number)}, id, "organizationId", 'production', ${sql.lit(number)}, 'push',
      ${sql.lit(number === deploymentsPerProject ? 'live' : 'superseded')}, ${source}, '{}', '[]', 0, "createdAt" + ${sql.lit(number)}
    from projects where id like 'prj_copy%'`.execute(db)

/** Adds deployments to one project: the newest is live, and every tenth belongs to a preview. */
const addDeployments = (db: Db, projectId: string, count: number) =>
  sql`insert into deployments (${deploymentColumns}) with ${series(count)}
    select 'dep_first' || n, id, "organizationId", case when n % 10 = 1 then 'preview-1' else 'production' end, n, 'push',
      case when n = ${sql.lit(count)} then 'live' else 'superseded' end, ${source}, '{}', '[]', 0, "createdAt" + n
    from projects cross join series where id = ${projectId}`.execute(db)

const addBackupRuns = (db: Db, projectId: string, count: number) =>
  sql`insert into "backupRuns" (${backupColumns}) with ${series(count)}
    select 'bkr_first' || n, "organizationId", id, name, 'succeeded', "createdAt" + n, 'scheduled', "createdAt" + n, 0, 0, 0, 'none'
    from projects cross join series where id = ${projectId}`.execute(db)

async function addDeliveries(
  db: Db,
  { organizationId, userId }: Pick<LargeOrganization, 'organizationId' | 'userId'>,
  { members, deliveriesPerMember }: TableSizes,
): Promise<void> {
  const feedEntries = deliveriesPerMember / 10
  await copyRow(db, 'users', ['id', userId], members - 1, { id: `'usr_copy' || n`, email: `'copy' || n || '@example.test'` })
  await sql`insert into members ("organizationId", "userId", role, "joinedAt")
    select ${text(organizationId)}, id, 'member', "createdAt" from users where id like 'usr_copy%'`.execute(db)
  await sql`insert into announcements (id, "organizationId", category, "projectId", subject, text, data, "createdAt", sequence)
    with ${series(deliveriesPerMember)}
    select 'ann_' || n, ${text(organizationId)}, 'deploy.failed', 'prj_copy' || n, 'Deployment failed', 'The build failed', '{}',
      1700000000000 + n, n from series`.execute(db)
  // An announcement's number orders it in time. Each member has not seen the newest five entries of the feed.
  const number = sql`announcements.sequence`
  await sql`insert into deliveries (id, "announcementId", "organizationId", "userId", "channelId", "channelKind", category, status, attempts, "joinedCount", "createdAt", "sentAt", "seenAt")
    select 'ndl_' || members."userId" || '_' || ${number}, announcements.id, announcements."organizationId", members."userId",
      'nch_' || members."userId", case when ${number} <= ${sql.lit(feedEntries)} then 'in_app' else 'webhook' end,
      announcements.category, 'sent', 1, 0, announcements."createdAt", announcements."createdAt",
      case when ${number} between ${sql.lit(feedEntries - 4)} and ${sql.lit(feedEntries)} then null else announcements."createdAt" end
    from announcements cross join members
    where announcements.id like 'ann_%' and members."organizationId" = ${organizationId}
      and (members."userId" like 'usr_copy%' or members."userId" = ${userId})`.execute(db)
}
