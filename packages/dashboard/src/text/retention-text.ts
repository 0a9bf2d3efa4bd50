import type { BackupPolicy } from '@berth/contract'
import { plural } from './sizes.ts'

/** How long runs are kept, and how often they are proven. */
export function retentionText({
  retainCount,
  retainDays,
  proveEveryDays,
  beforeDeploy,
}: Pick<BackupPolicy, 'retainCount' | 'retainDays' | 'proveEveryDays' | 'beforeDeploy'>): string {
  const kept = [
    retainCount !== null && `the newest ${plural(retainCount, 'run')}`,
    retainDays !== null && `those of the last ${plural(retainDays, 'day')}`,
  ].filter(Boolean)
  return [
    kept.length > 0 ? `keeps ${kept.join(' and ')}` : 'keeps every run',
    proveEveryDays !== null && `proven every ${plural(proveEveryDays, 'day')}`,
    beforeDeploy && 'also before each deployment',
  ]
    .filter(Boolean)
    .join(', ')
}
