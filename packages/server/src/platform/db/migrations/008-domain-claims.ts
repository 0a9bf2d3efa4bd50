import { randomBytes } from 'node:crypto'
import { type Kysely, sql } from 'kysely'

interface Tables {
  domains: { id: string; proofToken: string }
}

/**
 * Several organisations may claim a host name; at most one of them has proven it. SQLite cannot drop a constraint, so the table
 * is rebuilt.
 */
export const migration = {
  name: '008-domain-claims',
  async up(root: Kysely<unknown>): Promise<void> {
    const db = root as Kysely<Tables>
    const { schema } = db
    await schema
      .createTable('domainClaims')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('projectId', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
      .addColumn('organizationId', 'text', (column) => column.notNull())
      .addColumn('hostname', 'text', (column) => column.notNull())
      .addColumn('isPrimary', 'integer', (column) => column.notNull())
      .addColumn('tls', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('proofToken', 'text', (column) => column.notNull())
      .addColumn('provenAt', 'bigint')
      .addColumn('nextCheckAt', 'bigint')
      .addColumn('createdAt', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('domainOfOrganization', ['organizationId', 'hostname'])
      .execute()
    await sql`insert into "domainClaims"
      select domains.id, domains."projectId", projects."organizationId", domains.hostname, domains."isPrimary", domains.tls,
        domains.state, domains.reason, domains.id, null, domains."createdAt", domains."createdAt"
      from domains join projects on projects.id = domains."projectId"`.execute(db)
    await schema.dropTable('domains').execute()
    await schema.alterTable('domainClaims').renameTo('domains').execute()
    for (const { id } of await db.selectFrom('domains').select('id').execute())
      await db
        .updateTable('domains')
        .set({ proofToken: randomBytes(24).toString('base64url') })
        .where('id', '=', id)
        .execute()
    await schema.createIndex('domainsOfProject').on('domains').columns(['projectId', 'createdAt']).execute()
    await schema.createIndex('domainsByName').on('domains').column('hostname').execute()
    await sql`create unique index "domainProvenOnce" on domains (hostname) where "provenAt" is not null`.execute(db)
    await sql`create index "domainsToCheck" on domains ("nextCheckAt") where "nextCheckAt" is not null`.execute(db)
  },
}
