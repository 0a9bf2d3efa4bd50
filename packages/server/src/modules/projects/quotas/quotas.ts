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
type CountedQuota = keyof Usage

const texts: Record<CountedQuota, { noun: string; advice: string }> = {
  projects: { noun: 'projects', advice: 'delete one' },
  cpuCores: { noun: 'CPU cores', advice: 'reduce the CPU cores of projects, disable a project or close a preview' },
  memoryMb: { noun: 'MB of memory', advice: 'reduce the memory of projects, disable a project or close a preview' },
}

/**
 * Limits of an organisation. An operator's override takes precedence over the instance's settings, which do not limit the
 * operators' own organisation.
 */
export async function limitsOf(db: Db, organizationId: string, { settings }: Pick<QuotaDeps, 'settings'>): Promise<QuotaLimits> {
  const { projects, cpuCores, memoryMb, builds } = settings.quotas
  const instanceLimits = { projects, cpuCores, memoryMb, builds }
  const isUnlimited =
    Object.values(instanceLimits).every((limit) => limit === null) || (await isSetupOrganization(db, organizationId))
  return { ...(isUnlimited ? unlimited : instanceLimits), ...(await quotaOverride(db, organizationId)) }
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
  increased: readonly CountedQuota[],
  deps: QuotaDeps,
): Promise<void> {
  const limits = await limitsOf(db, organizationId, deps)
  if (!hasLimit(limits, increased)) return
  await lock(`quota:${organizationId}`)
  const usage = await usageOf(db, organizationId, deps.projectPorts)
  const details = increased.flatMap((name) => {
    const limit = limits[name]
    if (limit === null || usage[name] <= limit) return []
    const { noun, advice } = texts[name]
    return [
      { field: name, message: `the organisation is limited to ${limit} ${noun}, and this would make ${usage[name]}; ${advice}` },
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
export function increasedQuotas(before: ProjectRow, after: ProjectRow): CountedQuota[] {
  const [oldClaim, newClaim] = [configuredClaim(before), configuredClaim(after)]
  // A stopped project returns with its deployed resources, which may exceed its settings.
  const isReenabled = before.enabled === 0 && after.enabled === 1
  return (['cpuCores', 'memoryMb'] as const).filter((name) => isReenabled || newClaim[name] > oldClaim[name])
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
