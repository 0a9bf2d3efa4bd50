import { limits } from '@berth/contract'
import { routeRuleJson } from '../../../platform/db/json-columns/projects.ts'
import type { ProjectRow, RouteRuleRow } from '../../../platform/db/tables/projects.ts'
import { refuse } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { rulesOf } from '../store.ts'

/** Refuses rules of one project above the limits: one edge evaluates the requests of all projects, and holds the rules of all. */
export function refuseLargeRules(rules: readonly Pick<RouteRuleRow, 'kind' | 'config'>[], field: string): void {
  refuseBeyond(field, 'route rules', limits.rulesMaximum, rules.length)
  refuseBeyond(
    field,
    'bytes of settings in its route rules',
    limits.ruleBytes,
    sum(rules, ({ config }) => config.length),
  )
  refuseBeyond(field, 'user agents in its route rules', limits.ruleUserAgents, sum(rules, userAgentsIn))
}

/** Limits the rules of all projects of the organisation. Called in the transaction that added some, after the insert. */
export async function refuseManyRules(
  { db, lock }: Pick<TransactionContext, 'db' | 'lock'>,
  { id, organizationId }: Pick<ProjectRow, 'id' | 'organizationId'>,
  field: string,
): Promise<void> {
  refuseLargeRules(await rulesOf(db, id), field)
  await lock(`rules:${organizationId}`)
  const { bytes } = await db
    .selectFrom('routeRules')
    .innerJoin('projects', 'projects.id', 'routeRules.projectId')
    .select(({ fn }) => fn.sum(fn<number>('length', ['routeRules.config'])).as('bytes'))
    .where('projects.organizationId', '=', organizationId)
    .executeTakeFirstOrThrow()
  if (Number(bytes ?? 0) > limits.organizationRuleBytes)
    refuse(
      field,
      `the route rules of the organisation may have ${limits.organizationRuleBytes} bytes of settings, and this would make ${bytes}. Delete some.`,
    )
}

const userAgentsIn = (rule: Pick<RouteRuleRow, 'kind' | 'config'>): number => {
  const { userAgents } = rule.kind === 'ban' ? routeRuleJson.config(rule) : {}
  return Array.isArray(userAgents) ? userAgents.length : 0
}

function refuseBeyond(field: string, noun: string, max: number, count: number): void {
  if (count > max) refuse(field, `a project is limited to ${max} ${noun}, and this would make ${count}. Delete some.`)
}

const sum = <Row>(rows: readonly Row[], of: (row: Row) => number): number => rows.reduce((total, row) => total + of(row), 0)
