import { type Kysely, sql } from 'kysely'

/**
 * Indexes for lists of large tables, in the order of the list. Adds the organisation of a deployment, so that the newest ones of an
 * organisation are found without its projects; null in rows that an earlier version inserts.
 */
export const migration = {
  name: '068-list-indexes',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema.alterTable('deployments').addColumn('organizationId', 'text').execute()
    await sql`update deployments set "organizationId" = (select "organizationId" from projects where projects.id = "projectId")`.execute(
      db,
    )
    await schema
      .createIndex('deploymentsOfOrganization')
      .on('deployments')
      .columns(['organizationId', 'createdAt', 'id'])
      .execute()
    await schema.createIndex('deploymentsOfProject').on('deployments').columns(['projectId', 'createdAt', 'id']).execute()
    await schema
      .createIndex('deploymentsOfEnvironment')
      .on('deployments')
      .columns(['projectId', 'environment', 'number'])
      .execute()
    await sql`create index "deploymentsLive" on deployments ("projectId", environment) where status = 'live'`.execute(db)
    await sql`create index "deliveriesInFeed" on deliveries ("organizationId", "userId", "createdAt", id) where "channelKind" = 'in_app' and status = 'sent'`.execute(
      db,
    )
    await schema.dropIndex('deliveriesUnseen').execute()
    await sql`create index "deliveriesUnseen" on deliveries ("organizationId", "userId", "createdAt", id) where "seenAt" is null and "channelKind" = 'in_app' and status = 'sent'`.execute(
      db,
    )
    for (const [name, column] of [
      ['auditLogOfObject', 'objectId'],
      ['auditLogOfUser', 'userId'],
      ['auditLogOfAction', 'action'],
    ] as const)
      await schema.createIndex(name).on('auditLog').columns(['organizationId', column, 'sequence']).execute()
  },
}
