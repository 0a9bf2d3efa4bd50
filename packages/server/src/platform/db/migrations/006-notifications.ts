import { type Kysely, sql } from 'kysely'

export const migration = {
  name: '006-notifications',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema
      .createTable('notificationChannels')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull())
      .addColumn('userId', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('label', 'text', (column) => column.notNull())
      .addColumn('config', 'text', (column) => column.notNull())
      .addColumn('secrets', 'text')
      .addColumn('configRevision', 'integer', (column) => column.notNull())
      .addColumn('enabled', 'integer', (column) => column.notNull())
      .addColumn('verified', 'integer', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .addForeignKeyConstraint(
        'channelOfMember',
        ['organizationId', 'userId'],
        'members',
        ['organizationId', 'userId'],
        (constraint) => constraint.onDelete('cascade'),
      )
      .execute()
    await schema
      .createIndex('channelsOfMember')
      .on('notificationChannels')
      .columns(['organizationId', 'userId', 'createdAt', 'id'])
      .execute()
    await schema
      .createTable('notificationSubscriptions')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('organizationId', 'text', (column) => column.notNull())
      .addColumn('userId', 'text', (column) => column.notNull())
      .addColumn('channelId', 'text', (column) => column.notNull().references('notificationChannels.id').onDelete('cascade'))
      .addColumn('category', 'text', (column) => column.notNull())
      .addColumn('enabled', 'integer', (column) => column.notNull())
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('subscriptionToggle', ['channelId', 'category'])
      .execute()
    await schema
      .createIndex('subscriptionsOfMember')
      .on('notificationSubscriptions')
      .columns(['organizationId', 'userId', 'createdAt', 'id'])
      .execute()
    await schema
      .createTable('notificationDefaults')
      .addColumn('organizationId', 'text', (column) => column.notNull().references('organizations.id').onDelete('cascade'))
      .addColumn('category', 'text', (column) => column.notNull())
      .addColumn('defaultEnabled', 'integer', (column) => column.notNull())
      .addColumn('updatedAt', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('notificationDefaultsKey', ['organizationId', 'category'])
      .execute()
    await createDeliveries(db)
    await schema
      .createTable('announcedOnce')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('forgetAt', 'bigint', (column) => column.notNull())
      .execute()
    await schema.createIndex('announcedOnceToForget').on('announcedOnce').column('forgetAt').execute()
    await schema
      .createTable('serverFailures')
      .addColumn('serverId', 'text', (column) => column.primaryKey())
      .addColumn('failures', 'integer', (column) => column.notNull())
      .addColumn('announcedAt', 'bigint')
      .execute()
  },
}

async function createDeliveries(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('announcements')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('organizationId', 'text', (column) => column.notNull().references('organizations.id').onDelete('cascade'))
    .addColumn('category', 'text', (column) => column.notNull())
    .addColumn('projectId', 'text')
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addColumn('createdAt', 'bigint', (column) => column.notNull())
    .addColumn('sequence', 'bigint', (column) => column.notNull())
    .execute()
  await schema.createIndex('announcementsOfOrganization').on('announcements').columns(['organizationId', 'createdAt']).execute()
  await schema.createIndex('announcementsByAge').on('announcements').column('createdAt').execute()
  await schema
    .createTable('deliveries')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('announcementId', 'text', (column) => column.notNull().references('announcements.id').onDelete('cascade'))
    .addColumn('organizationId', 'text', (column) => column.notNull())
    .addColumn('userId', 'text', (column) => column.notNull())
    .addColumn('channelId', 'text', (column) => column.notNull())
    .addColumn('channelKind', 'text', (column) => column.notNull())
    .addColumn('category', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('jobId', 'text')
    .addColumn('joinedCount', 'integer', (column) => column.notNull())
    .addColumn('joinedSubject', 'text')
    .addColumn('joinedText', 'text')
    .addColumn('lastError', 'text')
    .addColumn('createdAt', 'bigint', (column) => column.notNull())
    .addColumn('sentAt', 'bigint')
    .addColumn('seenAt', 'bigint')
    .addUniqueConstraint('deliveryOnce', ['announcementId', 'channelId'])
    .addForeignKeyConstraint(
      'deliveryOfMember',
      ['organizationId', 'userId'],
      'members',
      ['organizationId', 'userId'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute()
  await schema
    .createIndex('deliveriesOfMember')
    .on('deliveries')
    .columns(['organizationId', 'userId', 'createdAt', 'id'])
    .execute()
  await schema.createIndex('deliveriesOfChannel').on('deliveries').columns(['channelId', 'category', 'createdAt']).execute()
  await sql`create index "deliveriesJoinedInto" on deliveries ("channelId", category, "createdAt") where "joinedCount" > 0`.execute(
    db,
  )
  await sql`create index "deliveriesUnseen" on deliveries ("organizationId", "userId") where "seenAt" is null and "channelKind" = 'in_app' and status = 'sent'`.execute(
    db,
  )
  await schema
    .createTable('joinedDeliveries')
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('deliveryId', 'text', (column) => column.notNull().references('deliveries.id').onDelete('cascade'))
    .addColumn('announcementId', 'text', (column) => column.notNull().references('announcements.id').onDelete('cascade'))
    .addPrimaryKeyConstraint('joinedDeliveriesKey', ['deliveryId', 'announcementId'])
    .execute()
  await schema.createIndex('joinedDeliveriesOfAnnouncement').on('joinedDeliveries').column('announcementId').execute()
}
