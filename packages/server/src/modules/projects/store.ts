import type { Presence } from '@berth/contract'
import { type Insertable, type RawBuilder, type SqlBool, sql, type Updateable } from 'kysely'
import { type Awaitable, thenSync } from '../../platform/awaitable.ts'
import { idListText, idsOrNone, isInIdList } from '../../platform/db/id-lists.ts'
import { groupRows, memoizeByRows } from '../../platform/db/memoize-rows.ts'
import { type Page, page, preparedPage } from '../../platform/db/pages.ts'
import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import type {
  DomainRow,
  EnvironmentRow,
  EnvironmentsTable,
  EnvVariableRow,
  ProjectRow,
  ProjectsTable,
  RouteRuleRow,
} from '../../platform/db/tables/projects.ts'
import { deleteGrants } from '../access/index.ts'

/** SQL of projects, environments, variables and domains. A query for a project by id also names its organisation. */

export type NewProject = Insertable<ProjectsTable>
export type ProjectChanges = Omit<Updateable<ProjectsTable>, 'id' | 'organizationId'>

/** Presences of this instance's own projects. A project being moved here, or a copy kept after a move, is excluded. */
export const present: readonly Presence[] = ['here', 'departing']

const projectById = preparedQuery((db, { organizationId, id }: { organizationId: string; id: string }) =>
  db
    .selectFrom('projects')
    .selectAll()
    .where('id', '=', id)
    .where('organizationId', '=', organizationId)
    .where('presence', 'in', present),
)

export const findProject = (db: Db, organizationId: string, id: string): Awaitable<ProjectRow | undefined> =>
  projectById.first(db, { organizationId, id })

/** Finds a project by id alone, for jobs whose payload is the id. */
export const findAnyProject = (db: Db, id: string): Promise<ProjectRow | undefined> =>
  db.selectFrom('projects').selectAll().where('id', '=', id).executeTakeFirst()

export interface RepositoryName {
  provider: string
  owner: string
  repo: string
}

/** Projects whose source is that repository; names are compared case-insensitively, as git hosts do. */
export const listOfRepository = (db: Db, { provider, owner, repo }: RepositoryName, organizationIds: readonly string[]) =>
  db
    .selectFrom('projects')
    .selectAll()
    .where(sql`lower("gitOwner")`, '=', owner.toLowerCase())
    .where(sql`lower("gitRepo")`, '=', repo.toLowerCase())
    .where('gitProvider', '=', provider)
    .where('organizationId', 'in', idsOrNone(organizationIds))
    .where('deletingSince', 'is', null)
    .where('presence', 'in', present)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()

export interface ProjectsQuery {
  limit?: number
  cursor?: string
  q?: string
  /** null: every project of the organisation. */
  onlyIds?: ReadonlySet<string> | null
}

/** Newest first; keyset pagination along the index, so the cost does not depend on the number of projects. */
export function listProjects(db: Db, organizationId: string, query: ProjectsQuery): Awaitable<Page<ProjectRow>> {
  const { limit = 100, cursor = null, q, onlyIds } = query
  if (!onlyIds && !q) return pageOfAll(db, { organizationId }, { limit, cursor })
  if (onlyIds?.size === 0) return { rows: [], nextCursor: null }
  let matching = presentProjects(db, organizationId)
  if (onlyIds) matching = matching.where('id', 'in', [...onlyIds])
  if (q) matching = matching.where(({ or }) => or([contains('name', q), contains('slug', q)]))
  return page(matching, { limit, cursor, ...newestFirst })
}

const newestFirst = { by: ['createdAt', 'id'], direction: 'desc' } as const
const presentProjects = (db: Db, organizationId: string) =>
  db.selectFrom('projects').selectAll().where('organizationId', '=', organizationId).where('presence', 'in', present)
const pageOfAll = preparedPage<{ organizationId: string }, 'projects', ProjectRow>(
  (db, { organizationId }) => presentProjects(db, organizationId),
  newestFirst,
)

/** Case-insensitive for ASCII letters only, as SQLite's lower() is; other letters must match exactly. */
function contains(field: 'name' | 'slug', q: string): RawBuilder<SqlBool> {
  const like = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`
  const column = sql.ref(field)
  return sql<SqlBool>`(lower(${column}) like ${like(q.toLowerCase())} escape '\\' or ${column} like ${like(q)} escape '\\')`
}

/** Undefined when the slug is taken; the transaction continues. */
export async function insertProject(db: Db, row: NewProject): Promise<ProjectRow | undefined> {
  return db
    .insertInto('projects')
    .values(row)
    .onConflict((conflict) => conflict.column('slug').doNothing())
    .returningAll()
    .executeTakeFirst()
}

export async function saveProject(db: Db, id: string, changes: ProjectChanges): Promise<ProjectRow> {
  const { envVersion, updatedAt, ...others } = changes
  const isVersion = envVersion !== undefined && updatedAt !== undefined && Object.keys(others).length === 0
  if (isVersion) return (await envVersionSaved.first(db, { id, envVersion, updatedAt })) ?? noProject(id)
  return db.updateTable('projects').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
}

/** Prepared, because each change of a production variable runs it. */
const envVersionSaved = preparedQuery((db, { id, ...changes }: { id: string; envVersion: number; updatedAt: number }) =>
  db.updateTable('projects').set(changes).where('id', '=', id).returningAll(),
)

const noProject = (id: string): never => {
  throw new Error(`projects: ${id} does not exist`)
}

/** Foreign keys delete dependent rows; grants have none, since the access module is below this one. */
export async function deleteProject(db: Db, id: string): Promise<void> {
  await deleteGrants(db, id)
  await db.deleteFrom('projects').where('id', '=', id).execute()
}

export async function takenSlugs(db: Db, slugs: readonly string[]): Promise<Set<string>> {
  const rows = await db.selectFrom('projects').select('slug').where('slug', 'in', slugs).execute()
  return new Set(rows.map(({ slug }) => slug))
}

// Environments

const environmentsOf = (db: Db, projectId: string) => db.selectFrom('environments').selectAll().where('projectId', '=', projectId)

/** Environments in order of creation; production is always the first. */
export const listEnvironments = (db: Db, projectId: string, { limit = 100, cursor }: { limit?: number; cursor?: string }) =>
  page(environmentsOf(db, projectId), { limit, cursor, by: ['createdAt', 'id'], direction: 'asc' })

export const allEnvironments = (db: Db, projectId: string): Promise<EnvironmentRow[]> =>
  environmentsOf(db, projectId).orderBy('createdAt').orderBy('id').execute()

/** Finds an environment by slug or id; a slug contains no underscore, an id does. */
export const findEnvironment = (db: Db, projectId: string, name: string): Awaitable<EnvironmentRow | undefined> =>
  environmentBy.first(db, { projectId, [name.includes('_') ? 'id' : 'slug']: name })

const environmentBy = preparedQuery<{ projectId: string; id?: string; slug?: string }, EnvironmentRow>(
  (db, { projectId, id, slug }) => {
    const query = environmentsOf(db, projectId)
    return id === undefined ? query.where('slug', '=', slug!) : query.where('id', '=', id)
  },
)

export const markEnvironmentDeleting = (db: Db, id: string, now: number): Promise<unknown> =>
  db.updateTable('environments').set({ deletingSince: now }).where('id', '=', id).execute()

export const changeEnvironment = (
  db: Db,
  id: string,
  changes: Partial<Pick<EnvironmentRow, 'branch' | 'fromFork' | 'uploadSessionId'>>,
): Promise<unknown> => db.updateTable('environments').set(changes).where('id', '=', id).execute()

export const renameEnvironment = (
  db: Db,
  { projectId, slug }: Pick<EnvironmentRow, 'projectId' | 'slug'>,
  changes: Pick<EnvironmentRow, 'name' | 'type' | 'branch'>,
): Promise<unknown> =>
  db.updateTable('environments').set(changes).where('projectId', '=', projectId).where('slug', '=', slug).execute()

export async function deleteEnvironment(db: Db, { id, projectId, slug }: EnvironmentRow): Promise<void> {
  await db.deleteFrom('envVariables').where('projectId', '=', projectId).where('environment', '=', slug).execute()
  await db.deleteFrom('environments').where('id', '=', id).execute()
}

export async function newestEnvironmentAt(db: Db, projectId: string): Promise<number> {
  const row = await db
    .selectFrom('environments')
    .select(({ fn }) => fn.max('createdAt').as('createdAt'))
    .where('projectId', '=', projectId)
    .executeTakeFirst()
  return row?.createdAt ?? 0
}

/** False when the project already has an environment with that slug. */
export async function insertEnvironment(db: Db, row: Insertable<EnvironmentsTable>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('environments')
    .values(row)
    .onConflict((conflict) => conflict.columns(['projectId', 'slug']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

// Environment variables

/** Sorted by key. */
export const listVariables = (db: Db, projectId: string, environment: string): Awaitable<readonly EnvVariableRow[]> =>
  thenSync(variablesQuery.all(db, { projectId, environment }), byKey)

// Sorted here, because each database orders letters by its own rules.
const byKey = memoizeByRows((rows: readonly EnvVariableRow[]) => [...rows].sort((left, right) => (left.key < right.key ? -1 : 1)))

const variablesQuery = preparedQuery<{ projectId: string; environment: string }, EnvVariableRow>(
  (db, { projectId, environment }) =>
    db.selectFrom('envVariables').selectAll().where('projectId', '=', projectId).where('environment', '=', environment),
)

export const allVariableNames = (db: Db, projectId: string) =>
  db
    .selectFrom('envVariables')
    .select(['environment', 'key'])
    .where('projectId', '=', projectId)
    .orderBy('environment')
    .orderBy('key')
    .execute()

export const upsertVariable = async (db: Db, row: EnvVariableRow): Promise<unknown> => variableUpserted.all(db, { ...row })

const variableUpserted = preparedQuery<EnvVariableRow, unknown>((db, row) =>
  db
    .insertInto('envVariables')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['projectId', 'environment', 'key'])
        .doUpdateSet({ value: row.value, isSecret: row.isSecret, updatedAt: row.updatedAt }),
    ),
)

export const deleteAllVariables = (db: Db, projectId: string): Promise<unknown> =>
  db.deleteFrom('envVariables').where('projectId', '=', projectId).execute()

export async function deleteVariables(db: Db, projectId: string, environment: string, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  await db
    .deleteFrom('envVariables')
    .where('projectId', '=', projectId)
    .where('environment', '=', environment)
    .where('key', 'in', keys)
    .execute()
}

// Domains

/** Domains of a page of projects, oldest first. */
export function domainsOf(db: Db, projectIds: readonly string[]): Awaitable<ReadonlyMap<string, readonly DomainRow[]>> {
  const [only, second] = projectIds
  if (only === undefined) return new Map()
  const parameters = second === undefined ? { projectId: only } : { list: idListText(projectIds) }
  return thenSync(domainsQuery.all(db, parameters), domainsByProject)
}

const domainsByProject = memoizeByRows((rows: readonly DomainRow[]) => groupRows(rows, ({ projectId }) => projectId))

const domainsQuery = preparedQuery<{ projectId?: string; list?: string }, DomainRow>((db, { projectId, list }) => {
  const query = db.selectFrom('domains').selectAll().orderBy('projectId').orderBy('createdAt').orderBy('id')
  return list === undefined ? query.where('projectId', '=', projectId!) : query.where(isInIdList(db, 'projectId', list))
})

export const findDomain = (db: Db, organizationId: string, hostname: string): Promise<DomainRow | undefined> =>
  db
    .selectFrom('domains')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('hostname', '=', hostname)
    .executeTakeFirst()

/** Claims of present projects that are not being deleted. */
const activeClaims = (db: Db) =>
  db
    .selectFrom('domains')
    .selectAll('domains')
    .innerJoin('projects', 'projects.id', 'domains.projectId')
    .where('projects.deletingSince', 'is', null)
    .where('projects.presence', 'in', present)

export const allClaims = (db: Db): Promise<DomainRow[]> => activeClaims(db).execute()

/** All claims of the given host names. */
export const claimsOf = (db: Db, ...hostnames: string[]): Promise<DomainRow[]> =>
  activeClaims(db).where('domains.hostname', 'in', hostnames).execute()

export async function countDomains(db: Db, projectId: string): Promise<number> {
  const { count } = await db
    .selectFrom('domains')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('projectId', '=', projectId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** False when the organisation has already connected the host name. */
export async function insertDomain(db: Db, row: DomainRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('domains')
    .values(row)
    .onConflict((conflict) => conflict.columns(['organizationId', 'hostname']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** False when the domain does not exist any more. */
export async function deleteDomain(db: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('domains').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

/** null: no domain, so that the free route is primary. False when the domain does not exist any more. */
export async function makePrimary(db: Db, projectId: string, domainId: string | null): Promise<boolean> {
  await db.updateTable('domains').set({ isPrimary: 0 }).where('projectId', '=', projectId).where('isPrimary', '=', 1).execute()
  if (!domainId) return true
  const { numUpdatedRows } = await db.updateTable('domains').set({ isPrimary: 1 }).where('id', '=', domainId).executeTakeFirst()
  return numUpdatedRows > 0n
}

// Rows of this module's other files, for the list of a deletion

export const allRules = (db: Db, projectId: string) =>
  db.selectFrom('routeRules').select(['id', 'kind']).where('projectId', '=', projectId).orderBy('createdAt').execute()

export const rulesOf = (db: Db, projectId: string): Promise<RouteRuleRow[]> =>
  db.selectFrom('routeRules').selectAll().where('projectId', '=', projectId).orderBy('createdAt').orderBy('id').execute()

export const findUpload = (db: Db, id: string) =>
  db.selectFrom('uploadSessions').select(['id', 'sizeBytes']).where('id', '=', id).executeTakeFirst()
