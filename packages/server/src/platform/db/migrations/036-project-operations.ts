import { type Kysely, sql } from 'kysely'

/** Adds a table with a row for each running operation on a project; operations that run during the upgrade get their row here. */
export const migration = {
  name: '036-project-operations',
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('projectOperations')
      .addColumn('id', 'text', (column) => column.primaryKey())
      // No foreign key: a restore may bring a deleted project back.
      .addColumn('projectId', 'text', (column) => column.notNull())
      .addColumn('environment', 'text')
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('phase', 'text', (column) => column.notNull())
      .addColumn('subjectId', 'text')
      .addColumn('startedAt', 'bigint', (column) => column.notNull())
      .addColumn('heldUntil', 'bigint')
      .execute()
    await db.schema.createIndex('projectOperationsByProject').on('projectOperations').column('projectId').execute()
    await db.schema.createIndex('projectOperationsBySubject').on('projectOperations').column('subjectId').unique().execute()
    const columns = sql`"projectOperations" (id, "projectId", environment, kind, phase, "subjectId", "startedAt")`
    await sql`insert into ${columns}
      select 'opr_' || substr(id, 5), "projectId", environment, 'deploy', 'running', id, "createdAt"
      from deployments where status in ('queued', 'building', 'deploying') and trigger <> 'transfer'`.execute(db)
    await sql`insert into ${columns}
      select 'opr_' || substr(id, 5), "projectId", null, 'backup', 'running', id, "createdAt"
      from "backupRuns" where status in ('queued', 'preparing', 'dumping', 'uploading', 'verifying')
      and trigger not in ('pre_restore', 'pre_deploy')`.execute(db)
    await sql`insert into ${columns}
      select 'opr_' || substr(id, 5), "projectId", null, 'restore', 'running', id, "createdAt"
      from "backupRestores" where status = 'applying'`.execute(db)
    await sql`insert into ${columns}
      select 'opr_' || substr(id, 5), "projectId", null, 'move',
        case when state in ('packing', 'packed') then 'running' else 'stopped' end, id, "createdAt"
      from "transferEnds" where side = 'departure' and state in ('packing', 'packed', 'releasing', 'ready', 'failed')`.execute(db)
    await sql`insert into ${columns}
      select 'opr_' || substr(id, 5), id, null, 'delete', 'running', id, "deletingSince"
      from projects where "deletingSince" is not null`.execute(db)
  },
}
