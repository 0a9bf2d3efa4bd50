import { type Kysely, sql } from 'kysely'

/** A machine may be registered as two servers; each of its containers can be adopted only once. */
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
    // If a container was adopted through two servers, the project that adopted it first keeps it.
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
