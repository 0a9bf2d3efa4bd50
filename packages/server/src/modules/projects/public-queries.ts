import type { Presence } from '@berth/contract'
import { sql } from 'kysely'
import type { Db } from '../../platform/db/schema.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { listPauses } from './operations/operation-store.ts'
import { present, type RepositoryName } from './store.ts'

/** What other modules ask of this one's tables. A query that is given unfinished is joined by theirs into one statement. */

/** The projects of an organisation, to be joined by id. */
export const projectsOf = (db: Db, organizationId: string) =>
  db
    .selectFrom('projects')
    .select('projects.id')
    .where('projects.organizationId', '=', organizationId)
    .where('projects.presence', 'in', present)

/** Names by id, to be joined. */
export const projectNames = (db: Db) => db.selectFrom('projects').select(['projects.id', 'projects.name'])

/** Projects whose next version is to run on a server. */
export const projectsOnServer = (db: Db, serverId: string): Promise<Pick<ProjectRow, 'name'>[]> =>
  db.selectFrom('projects').select('name').where('serverId', '=', serverId).limit(10).execute()

/** How long each project keeps previews, to be joined. */
export const previewAges = (db: Db) => db.selectFrom('projects').select(['projects.id', 'projects.previewsMaxAgeDays'])

/** Which of these are projects of the organisation. */
export async function ownedProjects(db: Db, organizationId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await projectsOf(db, organizationId).where('projects.id', 'in', ids).execute()
  return new Set(rows.map(({ id }) => id))
}

/** Whether a push to that branch is deployed by anybody: most are to branches that nobody deploys. */
export async function isFollowed(
  db: Db,
  { provider, owner, repo }: RepositoryName,
  organizationIds: readonly string[],
  { branch, defaultBranch }: { branch: string; defaultBranch?: string | null | undefined },
  presences: readonly Presence[] = ['here', 'departing', 'arriving', 'landing'],
): Promise<boolean> {
  const ofProject = sql`coalesce("projects"."gitBranch", ${defaultBranch ?? null})`
  const found = await db
    .selectFrom('projects')
    .innerJoin('environments', 'environments.projectId', 'projects.id')
    .select('projects.id')
    .where(sql`lower("gitOwner")`, '=', owner.toLowerCase())
    .where(sql`lower("gitRepo")`, '=', repo.toLowerCase())
    .where('gitProvider', '=', provider)
    .where('organizationId', 'in', [...organizationIds, ''])
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
          sql<boolean>`${ofProject} = ${branch}`,
        ]),
      ]),
    )
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

export interface ImageProject {
  id: string
  organizationId: string
  image: string
}

/** Projects of an image that a new digest is deployed to by itself. */
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

const inMotion: readonly Presence[] = ['departing', 'arriving', 'landing']

/** Whether a project of that repository is being moved: a push waits until it is known where the project lives. */
export async function isMoving(
  db: Db,
  { provider, owner, repo }: RepositoryName,
  organizationIds: readonly string[],
): Promise<boolean> {
  const found = await db
    .selectFrom('projects')
    .select('id')
    .where(sql`lower("gitOwner")`, '=', owner.toLowerCase())
    .where(sql`lower("gitRepo")`, '=', repo.toLowerCase())
    .where('gitProvider', '=', provider)
    .where('organizationId', 'in', [...organizationIds, ''])
    .where('deletingSince', 'is', null)
    .where('presence', 'in', inMotion)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** What the edge serves is made of these: projects that stay, and the rules that are on. */
export async function routedProjects(db: Db) {
  const [projects, rules, pauses] = await Promise.all([
    db
      .selectFrom('projects')
      .select(['id', 'slug', 'enabled', 'type', 'framework', 'serviceRoutes', 'webhookDomain'])
      .where('deletingSince', 'is', null)
      .where('presence', 'in', present)
      .execute(),
    db.selectFrom('routeRules').selectAll().where('enabled', '=', 1).execute(),
    listPauses(db),
  ])
  return { projects, rules, pauses }
}

export const addRuleHits = (db: Db, ruleId: string, hits: number): Promise<unknown> =>
  db
    .updateTable('routeRules')
    .set(({ eb }) => ({ hits: eb('hits', '+', hits) }))
    .where('id', '=', ruleId)
    .execute()

/** Every name that somebody has connected, to be compared with. */
export const claimedHostnames = (db: Db) => db.selectFrom('domains').select('domains.hostname')

/** The data folder lies elsewhere now: `move` gives a path's new place. */
export async function moveLocalPaths(db: Db, move: (path: string) => string): Promise<void> {
  for (const { id, localPath } of await db.selectFrom('projects').select(['id', 'localPath']).execute()) {
    const moved = localPath && move(localPath)
    if (moved !== localPath) await db.updateTable('projects').set({ localPath: moved }).where('id', '=', id).execute()
  }
}
