import type { Awaitable } from '../../platform/awaitable.ts'
import { type Page, page } from '../../platform/db/pages.ts'
import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { LinkRow } from '../../platform/db/tables/projects.ts'

/** SQL of links between projects and services. */

export const listLinks = (
  db: Db,
  projectId: string,
  { limit = 100, cursor }: { limit?: number; cursor?: string },
): Promise<Page<LinkRow>> =>
  page(db.selectFrom('projectLinks').selectAll().where('projectId', '=', projectId), {
    limit,
    cursor,
    by: ['createdAt', 'id'],
    direction: 'asc',
  })

/** All links of a project, or of one of its environments, oldest first. */
export const allLinks = (db: Db, projectId: string, environment?: string): Promise<LinkRow[]> => {
  const query = db.selectFrom('projectLinks').selectAll().where('projectId', '=', projectId).orderBy('createdAt').orderBy('id')
  return (environment === undefined ? query : query.where('environment', '=', environment)).execute()
}

/** All links to a service. */
export const linksTo = (db: Db, serviceProjectId: string): Awaitable<readonly LinkRow[]> =>
  linksToService.all(db, { serviceProjectId })

const linksToService = preparedQuery((db, { serviceProjectId }: { serviceProjectId: string }) =>
  db.selectFrom('projectLinks').selectAll().where('serviceProjectId', '=', serviceProjectId).orderBy('id'),
)

export const findLink = (db: Db, id: string): Promise<LinkRow | undefined> =>
  db.selectFrom('projectLinks').selectAll().where('id', '=', id).executeTakeFirst()

/** Returns the ids of links that were not deleted. */
export async function existingLinks(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  return new Set((await db.selectFrom('projectLinks').select('id').where('id', 'in', ids).execute()).map(({ id }) => id))
}

export const insertLinkRow = (db: Db, row: LinkRow): Promise<unknown> => db.insertInto('projectLinks').values(row).execute()

/** False if the link does not exist any more. */
export async function deleteLinkRow(db: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('projectLinks').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

/** Marks the variables of every project as changed whose production is linked to the service. Returns the ids of these projects. */
export async function raiseLinkedVersions(db: Db, serviceProjectId: string): Promise<string[]> {
  const linked = await linksTo(db, serviceProjectId)
  const ids = [...new Set(linked.flatMap(({ projectId, environment }) => (environment === 'production' ? [projectId] : [])))]
  if (ids.length === 0) return []
  await db
    .updateTable('projects')
    .set(({ eb }) => ({ envVersion: eb('envVersion', '+', 1) }))
    .where('id', 'in', ids)
    .execute()
  return ids
}
