import type { Presence } from '@berth/contract'
import { type RawBuilder, sql } from 'kysely'
import { idsOrNone } from '../../platform/db/id-lists.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { listStopped } from './operations/operation-store.ts'
import { present, type RepositoryName } from './store.ts'

/** Queries on this module's tables for other modules. An unexecuted query is joined by the caller into one statement. */

/** Query of an organisation's projects, to be joined by id. */
export const projectsOf = (db: Db, organizationId: string) =>
  db
    .selectFrom('projects')
    .select('projects.id')
    .where('projects.organizationId', '=', organizationId)
    .where('projects.presence', 'in', present)

/** Query of the organisation of a project, for a column of another table. */
export const organizationOfProject = (db: Db, projectId: string | RawBuilder<string>) =>
  db.selectFrom('projects').select('projects.organizationId').where('projects.id', '=', projectId)

/** Query of project names by id, to be joined. */
export const projectNames = (db: Db) => db.selectFrom('projects').select(['projects.id', 'projects.name'])

/** Slugs of these projects, sorted. */
export async function projectSlugs(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await db.selectFrom('projects').select('slug').where('id', 'in', idsOrNone(ids)).execute()
  return rows.map(({ slug }) => slug).sort()
}

/** Projects whose next version will run on that server. */
export const projectsOnServer = (db: Db, serverId: string): Promise<Pick<ProjectRow, 'name'>[]> =>
  db.selectFrom('projects').select('name').where('serverId', '=', serverId).limit(10).execute()

/** Query of each project's maximum preview age, to be joined. */
export const previewAges = (db: Db) => db.selectFrom('projects').select(['projects.id', 'projects.previewsMaxAgeDays'])

/** The given ids that are projects of the organisation. */
export async function ownedProjects(db: Db, organizationId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await projectsOf(db, organizationId).where('projects.id', 'in', ids).execute()
  return new Set(rows.map(({ id }) => id))
}

/** Whether any project deploys a push to that branch: most pushes are to branches that no project deploys. */
export async function hasDeployBranch(
  db: Db,
  { provider, owner, repo }: RepositoryName,
  organizationIds: readonly string[],
  { branch, defaultBranch }: { branch: string; defaultBranch?: string | null | undefined },
  presences: readonly Presence[] = ['here', 'departing', 'arriving', 'landing'],
): Promise<boolean> {
  const projectBranch = sql`coalesce("projects"."gitBranch", ${defaultBranch ?? null})`
  const row = await db
    .selectFrom('projects')
    .innerJoin('environments', 'environments.projectId', 'projects.id')
    .select('projects.id')
    .where(sql`lower("gitOwner")`, '=', owner.toLowerCase())
    .where(sql`lower("gitRepo")`, '=', repo.toLowerCase())
    .where('gitProvider', '=', provider)
    .where('organizationId', 'in', idsOrNone(organizationIds))
    .where('enabled', '=', 1)
    .where('autoDeploy', '=', 1)
    .where('presence', 'in', presences)
    .where('environments.pullRequest', 'is', null)
    .where(({ or, and, eb }) =>
      or([
        eb('environments.branch', '=', branch),
        and([
          eb('environments.branch', 'is', null),
          eb('environments.slug', '=', 'production'),
          sql<boolean>`${projectBranch} = ${branch}`,
        ]),
      ]),
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export interface ImageProject {
  id: string
  organizationId: string
  image: string
}

/** Image projects with auto-deploy: a new digest is deployed to them. */
export const imageProjects = (db: Db): Promise<ImageProject[]> =>
  db
    .selectFrom('projects')
    .select(['id', 'organizationId', 'image'])
    .where('image', 'is not', null)
    .where('autoDeploy', '=', 1)
    .where('enabled', '=', 1)
    .where('deletingSince', 'is', null)
    .where('presence', '=', 'here')
    .$narrowType<{ image: string }>()
    .execute()

const beingTransferred: readonly Presence[] = ['departing', 'arriving', 'landing']

/** Whether a project of that repository is being moved: a push waits until the move has ended. */
export async function isBeingTransferred(
  db: Db,
  { provider, owner, repo }: RepositoryName,
  organizationIds: readonly string[],
): Promise<boolean> {
  const row = await db
    .selectFrom('projects')
    .select('id')
    .where(sql`lower("gitOwner")`, '=', owner.toLowerCase())
    .where(sql`lower("gitRepo")`, '=', repo.toLowerCase())
    .where('gitProvider', '=', provider)
    .where('organizationId', 'in', idsOrNone(organizationIds))
    .where('deletingSince', 'is', null)
    .where('presence', 'in', beingTransferred)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Input of the edge's routes: projects that are not being deleted, enabled rules and paused projects. */
export async function routedProjects(db: Db) {
  const [projects, rules, pauses] = await Promise.all([
    db
      .selectFrom('projects')
      .select(['id', 'slug', 'enabled', 'type', 'framework', 'serviceRoutes', 'webhookDomain'])
      .where('deletingSince', 'is', null)
      .where('presence', 'in', present)
      .execute(),
    db.selectFrom('routeRules').selectAll().where('enabled', '=', 1).execute(),
    listStopped(db),
  ])
  return { projects, rules, pauses }
}

export const addRuleHits = (db: Db, ruleId: string, hits: number): Promise<unknown> =>
  db
    .updateTable('routeRules')
    .set(({ eb }) => ({ hits: eb('hits', '+', hits) }))
    .where('id', '=', ruleId)
    .execute()

/** Query of all connected host names, to be compared with. */
export const claimedHostnames = (db: Db) => db.selectFrom('domains').select('domains.hostname')

/** Rewrites local paths after the data folder has moved: `move` returns the new path. */
export async function moveLocalPaths(db: Db, move: (path: string) => string): Promise<void> {
  for (const { id, localPath } of await db.selectFrom('projects').select(['id', 'localPath']).execute()) {
    const moved = localPath && move(localPath)
    if (moved !== localPath) await db.updateTable('projects').set({ localPath: moved }).where('id', '=', id).execute()
  }
}
