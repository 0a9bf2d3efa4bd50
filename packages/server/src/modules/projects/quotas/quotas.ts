import type { QuotaName, Quotas } from '@berth/contract'
import type { Db } from '../../../platform/db/schema.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { Failure } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { isSetupOrganization, quotaOverride } from '../../access/index.ts'
import type { ProjectsDeps, QuotaLimits } from '../deps.ts'
import { configuredClaim } from './claims.ts'
import { type Usage, usageOf } from './usage.ts'

type QuotaDeps = Pick<ProjectsDeps, 'settings' | 'projectPorts'>
type Counted = keyof Usage

const words: Record<Counted, { what: string; less: string }> = {
  projects: { what: 'projects', less: 'delete one' },
  cpuCores: { what: 'CPU cores', less: 'reduce the CPU cores of projects, disable a project or close a preview' },
  memoryMb: { what: 'MB of memory', less: 'reduce the memory of projects, disable a project or close a preview' },
}

/**
 * Limits of an organisation. An operator's override takes precedence over the instance's settings, which do not limit the
 * operators' own organisation.
 */
export async function limitsOf(db: Db, organizationId: string, { settings }: Pick<QuotaDeps, 'settings'>): Promise<QuotaLimits> {
  const { projects, cpuCores, memoryMb, builds } = settings.quotas
  const own = { projects, cpuCores, memoryMb, builds }
  const isNothing = Object.values(own).every((limit) => limit === null) || (await isSetupOrganization(db, organizationId))
  return { ...(isNothing ? unlimited : own), ...(await quotaOverride(db, organizationId)) }
}

const unlimited: QuotaLimits = { projects: null, cpuCores: null, memoryMb: null, builds: null }

const hasLimit = (limits: QuotaLimits, names: readonly QuotaName[]) => names.some((name) => limits[name] !== null)

/**
 * Called in the transaction that increased the usage, after the increase: the lock counts two concurrent increases one after
 * the other. A quota that was exceeded before does not refuse an increase of another one.
 */
export async function refuseOverQuota(
  { db, lock }: Pick<TransactionContext, 'db' | 'lock'>,
  organizationId: string,
  more: readonly Counted[],
  deps: QuotaDeps,
): Promise<void> {
  const limits = await limitsOf(db, organizationId, deps)
  if (!hasLimit(limits, more)) return
  await lock(`quota:${organizationId}`)
  const usage = await usageOf(db, organizationId, deps.projectPorts)
  const details = more.flatMap((name) => {
    const limit = limits[name]
    if (limit === null || usage[name] <= limit) return []
    const { what, less } = words[name]
    return [
      { field: name, message: `the organisation is limited to ${limit} ${what}, and this would make ${usage[name]}; ${less}` },
    ]
  })
  const [first] = details
  if (first)
    throw new Failure('quota_exceeded', {
      message: `Quota ${first.field}: ${first.message}, or ask the operator of this instance for more`,
      field: first.field,
      details,
    })
}

/** Resources that a change of a project's settings increases. */
export function raisedBy(before: ProjectRow, after: ProjectRow): Counted[] {
  const [had, has] = [configuredClaim(before), configuredClaim(after)]
  // A stopped project returns with its deployed resources, which may exceed its settings.
  const isBack = before.enabled === 0 && after.enabled === 1
  return (['cpuCores', 'memoryMb'] as const).filter((name) => isBack || has[name] > had[name])
}

/** Quotas for the organisation's record; null where it has no limit. */
export async function showQuotas(db: Db, organizationId: string, deps: QuotaDeps): Promise<Quotas | null> {
  const limits = await limitsOf(db, organizationId, deps)
  if (!hasLimit(limits, ['projects', 'cpuCores', 'memoryMb', 'builds'])) return null
  const usage = await usageOf(db, organizationId, deps.projectPorts)
  const building = (await deps.projectPorts.reserved?.building(db, organizationId)) ?? 0
  return {
    projects: { limit: limits.projects, used: usage.projects },
    cpuCores: { limit: limits.cpuCores, used: usage.cpuCores },
    memoryMb: { limit: limits.memoryMb, used: usage.memoryMb },
    builds: { limit: limits.builds, used: building },
  }
}
