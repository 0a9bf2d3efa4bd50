import { type Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import { describeOnEachDatabase } from '../../test-each-database.ts'
import { migration } from './039-moves.ts'

describeOnEachDatabase('projects that were moved before', (open) => {
  test('projects whose newest finished transfer went to the cloud are marked as cloud projects', async () => {
    const { db } = await open()
    await sql`drop table "cloudProjects"`.execute(db)
    for (const [table, column] of added) await sql`alter table ${sql.table(table)} drop column ${sql.ref(column)}`.execute(db)
    await sql`insert into organizations (id, name, slug, "createdAt") values ('org_a', 'a', 'a', 1)`.execute(db)
    const move = (id: string, projectId: string, direction: string, createdAt: number, phase = 'done') =>
      sql`insert into "cloudTransfers" (id, "organizationId", "projectId", "projectName", direction, cloud, "withData", phase,
        "bytesDone", warnings, "createdAt", "finishedAt")
        values (${id}, 'org_a', ${projectId}, 'p', ${direction}, 'https://cloud org_c', 1, ${phase}, 0, '[]', ${createdAt}, ${createdAt})`.execute(
        db,
      )
    await move('trf_1', 'prj_there', 'to_cloud', 1)
    await move('trf_2', 'prj_back', 'to_cloud', 1)
    await move('trf_3', 'prj_back', 'to_self_hosted', 2)
    await move('trf_4', 'prj_failed', 'to_cloud', 1, 'failed')

    await db.transaction().execute((tx) => migration.up(tx as never as Kysely<unknown>))

    const moved = await db.selectFrom('cloudProjects').selectAll().execute()
    expect(moved).toEqual([
      {
        ...{ projectId: 'prj_there', organizationId: 'org_a', cloud: 'https://cloud org_c' },
        ...{ localPath: null, movedAt: 1, missingSince: null },
      },
    ])
  })
})

const added = [
  ['projects', 'carried'],
  ['deployments', 'importedAt'],
  ['backupRuns', 'importedAt'],
  ['uploadSessions', 'cloudSessionId'],
  ['cloudLinks', 'feedPosition'],
] as const
