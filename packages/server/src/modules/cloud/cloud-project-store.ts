import type { Db } from '../../platform/db/schema.ts'
import type { CloudProjectRow } from '../../platform/db/tables/cloud.ts'

/** SQL of projects that were transferred to a cloud. */

export const saveCloudProject = ({ projectId, ...values }: CloudProjectRow, db: Db): Promise<unknown> =>
  db
    .insertInto('cloudProjects')
    .values({ projectId, ...values })
    .onConflict((conflict) => conflict.column('projectId').doUpdateSet(values))
    .execute()

export const findCloudProject = (db: Db, projectId: string): Promise<CloudProjectRow | undefined> =>
  db.selectFrom('cloudProjects').selectAll().where('projectId', '=', projectId).executeTakeFirst()

export const cloudProjectsOf = (db: Db, organizationId: string): Promise<CloudProjectRow[]> =>
  db.selectFrom('cloudProjects').selectAll().where('organizationId', '=', organizationId).orderBy('projectId').execute()

export const deleteCloudProject = (db: Db, projectId: string): Promise<unknown> =>
  db.deleteFrom('cloudProjects').where('projectId', '=', projectId).execute()

export const recordMissing = (db: Db, projectId: string, missingSince: number | null): Promise<unknown> =>
  db.updateTable('cloudProjects').set({ missingSince }).where('projectId', '=', projectId).execute()
