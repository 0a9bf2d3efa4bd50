import { type Kysely, sql } from 'kysely'
import { newId } from '../ids.ts'

interface ChannelRow {
  id: string
  organizationId: string
  userId: string
  kind: string
  label: string
  config: string
  secrets: string | null
  configRevision: number
  enabled: number
  verified: number
  createdAt: number
  updatedAt: number
}

interface SubscriptionRow {
  id: string
  organizationId: string
  userId: string
  channelId: string
  category: string
  enabled: number
  createdAt: number
  updatedAt: number
}

interface Tables {
  notificationChannels: ChannelRow
  notificationSubscriptions: SubscriptionRow
  userChannels: Omit<ChannelRow, 'organizationId'>
  userSubscriptions: SubscriptionRow
}

/**
 * A channel belongs to its user, in every organisation; the organisation is part of the subscription. SQLite cannot drop a
 * constraint, so both tables are rebuilt. Channels of one user with the same target are merged.
 */
export const migration = {
  name: '041-user-channels',
  async up(root: Kysely<unknown>): Promise<void> {
    const db = root as Kysely<Tables>
    const channels = await db.selectFrom('notificationChannels').selectAll().orderBy('createdAt').orderBy('id').execute()
    const groups = [...Map.groupBy(channels, keyOf).values()].map((members) => ({ kept: chooseKept(members), members }))
    await createTables(db)
    for (const { kept } of groups) {
      const { organizationId: _, ...row } = kept
      await db.insertInto('userChannels').values(row).execute()
    }
    await copySubscriptions(db, groups)
    await moveDeliveries(db, groups)
    await db.schema.dropTable('notificationSubscriptions').execute()
    await db.schema.dropTable('notificationChannels').execute()
    await db.schema.alterTable('userChannels').renameTo('notificationChannels').execute()
    await db.schema.alterTable('userSubscriptions').renameTo('notificationSubscriptions').execute()
    await createIndexes(db)
  },
}

interface Group {
  kept: ChannelRow
  members: readonly ChannelRow[]
}

/** Channels of kinds with default subscriptions are merged: otherwise a user would get each alert once per organisation. */
const keyOf = ({ id, userId, kind, config }: ChannelRow): string =>
  kind === 'in_app' || kind === 'email' ? JSON.stringify([userId, kind, config]) : id

/** `members` oldest first. */
const chooseKept = (members: readonly ChannelRow[]): ChannelRow =>
  members.find(({ enabled, verified }) => enabled && verified) ??
  members.find(({ enabled }) => enabled) ??
  (members[0] as ChannelRow)

async function createTables({ schema }: Kysely<Tables>): Promise<void> {
  await schema
    .createTable('userChannels')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('userId', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('label', 'text', (column) => column.notNull())
    .addColumn('config', 'text', (column) => column.notNull())
    .addColumn('secrets', 'text')
    .addColumn('configRevision', 'integer', (column) => column.notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('verified', 'integer', (column) => column.notNull())
    .addColumn('createdAt', 'bigint', (column) => column.notNull())
    .addColumn('updatedAt', 'bigint', (column) => column.notNull())
    .execute()
  await schema
    .createTable('userSubscriptions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('organizationId', 'text', (column) => column.notNull())
    .addColumn('userId', 'text', (column) => column.notNull())
    .addColumn('channelId', 'text', (column) => column.notNull().references('userChannels.id').onDelete('cascade'))
    .addColumn('category', 'text', (column) => column.notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('createdAt', 'bigint', (column) => column.notNull())
    .addColumn('updatedAt', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('subscriptionOfOrganization', ['organizationId', 'channelId', 'category'])
    .addForeignKeyConstraint(
      'subscriptionOfMember',
      ['organizationId', 'userId'],
      'members',
      ['organizationId', 'userId'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute()
  await schema
    .createTable('feedOptOuts')
    .addColumn('userId', 'text', (column) => column.primaryKey().references('users.id').onDelete('cascade'))
    .addColumn('createdAt', 'bigint', (column) => column.notNull())
    .execute()
}

/** Merges two settings of one toggle: the newer one wins. An organisation where every merged channel was off stays silent. */
async function copySubscriptions(db: Kysely<Tables>, groups: readonly Group[]): Promise<void> {
  const rows = await db.selectFrom('notificationSubscriptions').selectAll().orderBy('updatedAt', 'desc').orderBy('id').execute()
  const toggles = new Map<string, SubscriptionRow>()
  const add = (row: SubscriptionRow) => {
    const key = JSON.stringify([row.organizationId, row.channelId, row.category])
    if (!toggles.has(key)) toggles.set(key, row)
  }
  for (const row of groups.flatMap(optOutsOf)) add(row)
  const keptIds = new Map(groups.flatMap(({ kept, members }) => members.map(({ id }) => [id, kept.id] as const)))
  for (const row of rows) add({ ...row, channelId: keptIds.get(row.channelId) ?? row.channelId })
  for (const row of toggles.values()) await db.insertInto('userSubscriptions').values(row).execute()
}

function optOutsOf({ kept, members }: Group): SubscriptionRow[] {
  if (!kept.enabled) return []
  const disabledOrganizations = [...Map.groupBy(members, ({ organizationId }) => organizationId)].filter(([, channels]) =>
    channels.every(({ enabled }) => !enabled),
  )
  return disabledOrganizations.flatMap(([organizationId, [first]]) =>
    categories.map((category) => ({
      id: newId('nsb'),
      organizationId,
      userId: kept.userId,
      channelId: kept.id,
      category,
      enabled: 0,
      createdAt: (first as ChannelRow).createdAt,
      updatedAt: (first as ChannelRow).updatedAt,
    })),
  )
}

async function moveDeliveries(db: Kysely<Tables>, groups: readonly Group[]): Promise<void> {
  for (const { kept, members } of groups)
    for (const { id } of members)
      if (id !== kept.id)
        await sql`update deliveries set "channelId" = ${kept.id} where "channelId" = ${id} and not exists
          (select 1 from deliveries as other where other."announcementId" = deliveries."announcementId" and other."channelId" = ${kept.id})`.execute(
          db,
        )
}

async function createIndexes({ schema }: Kysely<Tables>): Promise<void> {
  await schema.createIndex('channelsOfUser').on('notificationChannels').columns(['userId', 'createdAt', 'id']).execute()
  await schema
    .createIndex('subscriptionsOfMember')
    .on('notificationSubscriptions')
    .columns(['organizationId', 'userId', 'createdAt', 'id'])
    .execute()
  await schema.createIndex('subscriptionsOfChannel').on('notificationSubscriptions').column('channelId').execute()
}

const categories = [
  'deploy.failed',
  'deploy.succeeded',
  'deploy.cancelled',
  'project.unhealthy',
  'project.recovered',
  'project.slept',
  'domain.expiring',
  'domain.failed',
  'backup.failed',
  'backup.succeeded',
  'backup.missed',
  'backup.unproven',
  'restore.completed',
  'restore.failed',
  'server.unreachable',
  'git.disconnected',
  'member.joined',
  'token.expiring',
  'transfer.completed',
]
