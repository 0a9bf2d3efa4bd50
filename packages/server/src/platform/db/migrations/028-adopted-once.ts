import { type Kysely, sql } from 'kysely'

/** A machine may be known as two servers; what runs there is adopted once all the same. */
export const migration = {
  name: '028-adopted-once',
  async up(db: Kysely<unknown>): Promise<void> {
    const { schema } = db
    await schema
      .alterTable('adoptedContainers')
      .addColumn('organizationId', 'text', (column) => column.notNull().defaultTo(''))
      .execute()
    await sql`update "adoptedContainers" set "organizationId" = (select "organizationId" from "projects" where "projects"."id" = "projectId")`.execute(
      db,
    )
    // Of two that were adopted through two servers the project that had it first keeps it.
    await sql`delete from "adoptedContainers" where exists (select 1 from "adoptedContainers" as "earlier"
      where "earlier"."containerId" = "adoptedContainers"."containerId" and "earlier"."organizationId" = "adoptedContainers"."organizationId"
      and "earlier"."serverId" <> "adoptedContainers"."serverId"
      and ("earlier"."adoptedAt" < "adoptedContainers"."adoptedAt"
        or ("earlier"."adoptedAt" = "adoptedContainers"."adoptedAt" and "earlier"."serverId" < "adoptedContainers"."serverId")))`.execute(
      db,
    )
    await schema
      .createIndex('adoptedContainersOnce')
      .on('adoptedContainers')
      .columns(['organizationId', 'containerId'])
      .unique()
      .execute()
  },
}
