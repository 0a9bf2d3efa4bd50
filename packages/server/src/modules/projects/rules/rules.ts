import type { CreateRule, RouteRule, UpdateRule } from '@berth/contract'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import { routeRuleJson } from '../../../platform/db/json-columns/projects.ts'
import { type Page, page } from '../../../platform/db/pages.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { ProjectRow, RouteRuleRow } from '../../../platform/db/tables/projects.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { projectHostnames } from '../domains/project-hostnames.ts'
import { refuseUnstorable } from '../fields.ts'
import { freeHostname, isWithinDomain } from '../hostnames/hostnames.ts'
import { lockProject, refuseOperation } from '../operations/operation.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { findProject, rulesOf } from '../store.ts'
import { refuseManyRules } from './rule-bounds.ts'
import { checkRuleConfig, type RuleConfig } from './rule-config.ts'

type ProjectKey = Pick<ProjectRow, 'id' | 'organizationId'>

/** Rules of a project, oldest first. */
export const listRules = (
  db: Db,
  projectId: string,
  { limit = 100, cursor }: { limit?: number; cursor?: string },
): Promise<Page<RouteRuleRow>> =>
  page(db.selectFrom('routeRules').selectAll().where('projectId', '=', projectId), {
    limit,
    cursor,
    by: ['createdAt', 'id'],
    direction: 'asc',
  })

export const findRule = (db: Db, organizationId: string, projectId: string, id: string): Promise<RouteRuleRow | undefined> =>
  db
    .selectFrom('routeRules')
    .selectAll('routeRules')
    .innerJoin('projects', 'projects.id', 'routeRules.projectId')
    .where('projects.organizationId', '=', organizationId)
    .where('routeRules.projectId', '=', projectId)
    .where('routeRules.id', '=', id)
    .executeTakeFirst()

export async function createRule(project: ProjectRow, body: CreateRule, deps: ProjectsDeps): Promise<RouteRuleRow> {
  const now = nowOf(deps)
  await refuseForeignHostname(project, body, deps)
  const row: RouteRuleRow = {
    ...ruleColumns(body, now),
    id: newId('rul'),
    projectId: project.id,
    hits: 0,
    createdAt: now,
    updatedAt: now,
  }
  await changeRules(project, deps, async (transaction) => {
    await transaction.db.insertInto('routeRules').values(row).execute()
    await refuseManyRules(transaction, project, 'config')
  })
  return row
}

type RuleColumns = Omit<RouteRuleRow, 'id' | 'projectId' | 'hits' | 'createdAt' | 'updatedAt'>

function ruleColumns(body: CreateRule, now: number): RuleColumns {
  refuseUnstorable(body)
  const defaults = { kind: body.kind, enabled: 1, pathPrefix: null, hostname: null, dryRun: 0, expiresAt: null } as const
  return { ...defaults, ...scopeColumns(body, now), config: JSON.stringify(checkRuleConfig(body.kind, body.config)) }
}

/** Validates the rules of an imported project as if a client had sent each of them. */
export const checkedRules = (bodies: readonly CreateRule[], now: number): RuleColumns[] =>
  bodies.map((body) => ruleColumns(body, now))

/** Makes these the only rules of the project. An equal existing rule is kept, with its id and hits. */
export async function replaceRules(db: Db, projectId: string, rules: readonly RuleColumns[], now: number): Promise<void> {
  const unmatched = await rulesOf(db, projectId)
  for (const [position, rule] of rules.entries()) {
    const index = unmatched.findIndex((row) => isSameRule(row, rule))
    if (index >= 0) unmatched.splice(index, 1)
    else {
      const row = { ...rule, id: newId('rul'), projectId, hits: 0, createdAt: now + position, updatedAt: now + position }
      await db.insertInto('routeRules').values(row).execute()
    }
  }
  for (const { id } of unmatched) await db.deleteFrom('routeRules').where('id', '=', id).execute()
}

const isSameRule = (row: RouteRuleRow, rule: RuleColumns): boolean =>
  (Object.keys(rule) as (keyof RuleColumns)[]).every((column) => row[column] === rule[column])

/** Changes the named fields, of the rule and of its config; absent ones are left unchanged. */
export async function updateRule(rule: RouteRuleRow, organizationId: string, body: UpdateRule, deps: ProjectsDeps) {
  refuseUnstorable(body)
  const now = nowOf(deps)
  const columns = scopeColumns(body, now)
  const project = (await findProject(deps.database.db, organizationId, rule.projectId)) ?? fail('not_found')
  if (columns.hostname !== rule.hostname) await refuseForeignHostname(project, body, deps)
  return changeRules({ id: rule.projectId, organizationId }, deps, async (transaction) => {
    const { db } = transaction
    const current = (await findRule(db, organizationId, rule.projectId, rule.id)) ?? fail('not_found')
    const kind = body.kind ?? current.kind
    const config = body.config || kind !== current.kind ? JSON.stringify(mergedConfig(current, body)) : current.config
    const changed = await db
      .updateTable('routeRules')
      .set({ ...columns, kind, config, updatedAt: now })
      .where('id', '=', rule.id)
      .returningAll()
      .executeTakeFirstOrThrow()
    // Existing rules above the limit can still be disabled or made smaller.
    if (config.length > current.config.length) await refuseManyRules(transaction, project, 'config')
    return changed
  })
}

export const removeRule = (rule: RouteRuleRow, organizationId: string, deps: ProjectsDeps): Promise<unknown> =>
  changeRules({ id: rule.projectId, organizationId }, deps, async ({ db }) => {
    const { numDeletedRows } = await db.deleteFrom('routeRules').where('id', '=', rule.id).executeTakeFirst()
    if (numDeletedRows === 0n) fail('not_found')
  })

/** The rule's fields as a client would send them. */
export const ruleFields = (row: RouteRuleRow) => ({
  kind: row.kind,
  enabled: row.enabled === 1,
  pathPrefix: row.pathPrefix,
  hostname: row.hostname,
  dryRun: row.dryRun === 1,
  expiresAt: isoOrNull(row.expiresAt),
  config: routeRuleJson.config(row),
})

export const showRule = (row: RouteRuleRow): RouteRule => ({
  id: row.id,
  projectId: row.projectId,
  ...ruleFields(row),
  hits: Number(row.hits),
  createdAt: iso(row.createdAt),
  updatedAt: iso(row.updatedAt),
})

/** A rule that changes its kind starts with an empty config; `null` removes a field. */
function mergedConfig(current: RouteRuleRow, { kind = current.kind, config = {} }: UpdateRule): RuleConfig {
  const before = kind === current.kind ? routeRuleJson.config(current) : {}
  const merged = Object.entries({ ...before, ...config }).filter(([, value]) => value !== null)
  return checkRuleConfig(kind, Object.fromEntries(merged))
}

/** Refuses a host name that is never served for this project: the rule would never apply. */
async function refuseForeignHostname(project: ProjectRow, { hostname }: Scope, deps: ProjectsDeps): Promise<void> {
  if (!hostname) return
  const hostnames = await projectHostnames(project, deps)
  if (!hostnames.includes(hostname.toLowerCase())) refuse('hostname', `must be one of the project's own: ${hostnames.join(', ')}`)
}

/** Rules of free host names are rewritten to the project's new slug. */
export async function moveRules(
  db: Db,
  project: Pick<ProjectRow, 'id' | 'slug'>,
  slug: string,
  baseDomain: string,
): Promise<void> {
  const before = freeHostname(project, baseDomain)
  for (const { id, hostname } of await rulesOf(db, project.id))
    if (hostname && isWithinDomain(hostname, before))
      await db
        .updateTable('routeRules')
        .set({ hostname: hostname.slice(0, -before.length) + freeHostname({ slug }, baseDomain) })
        .where('id', '=', id)
        .execute()
}

type Scope = Pick<UpdateRule, 'enabled' | 'pathPrefix' | 'hostname' | 'dryRun' | 'expiresAt'>

/** The columns of the given fields: where the rule applies, until when, and whether it is enabled. */
function scopeColumns({ enabled, pathPrefix, hostname, dryRun, expiresAt }: Scope, now: number) {
  const expiresAtMs = expiresAt ? Date.parse(expiresAt) : null
  if (expiresAtMs !== null && !(expiresAtMs > now)) refuse('expiresAt', 'is in the past')
  return {
    ...(enabled === undefined ? {} : { enabled: enabled ? (1 as const) : (0 as const) }),
    ...(pathPrefix === undefined ? {} : { pathPrefix }),
    ...(hostname === undefined ? {} : { hostname: hostname?.toLowerCase() ?? null }),
    ...(dryRun === undefined ? {} : { dryRun: dryRun ? (1 as const) : (0 as const) }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAtMs }),
  }
}

/** Changes rules under the project's lock; the edge is notified on commit. */
function changeRules<Result>(
  project: ProjectKey,
  deps: ProjectsDeps,
  change: (transaction: TransactionContext) => Promise<Result>,
): Promise<Result> {
  return deps.database.transaction(async (transaction) => {
    await lockProject(transaction, project.id)
    if (!(await findProject(transaction.db, project.organizationId, project.id))) fail('not_found')
    await refuseOperation({ projectId: project.id, environment: null, kind: 'change' }, transaction, deps)
    const result = await change(transaction)
    transaction.signal(projectsTopic, { projectId: project.id } satisfies ProjectSignal)
    return result
  })
}
