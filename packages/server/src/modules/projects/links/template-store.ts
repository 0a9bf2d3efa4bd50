import type { Db } from '../../../platform/db/schema.ts'
import type { ProjectTemplateRow } from '../../../platform/db/tables/projects.ts'

/** SQL of the templates that projects were created from. */

export const insertProjectTemplate = (db: Db, row: ProjectTemplateRow): Promise<unknown> =>
  db.insertInto('projectTemplates').values(row).execute()

export const findProjectTemplate = (db: Db, projectId: string): Promise<ProjectTemplateRow | undefined> =>
  db.selectFrom('projectTemplates').selectAll().where('projectId', '=', projectId).executeTakeFirst()
