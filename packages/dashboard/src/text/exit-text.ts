import type { ServiceStatus } from '@berth/contract'

const reasons: Partial<Record<NonNullable<ServiceStatus['lastExit']>['reason'], string>> = {
  out_of_memory: 'out of memory',
  disk_full: 'over its disk limit',
  signal: 'killed',
}

/** Describes the last exit of a service: `Code 137, out of memory`. */
export function exitText({ code, reason }: Pick<NonNullable<ServiceStatus['lastExit']>, 'code' | 'reason'>): string {
  const why = reasons[reason]
  if (code === null) return why ? `${why[0]?.toUpperCase()}${why.slice(1)}` : 'Unknown'
  return why ? `Code ${code}, ${why}` : `Code ${code}`
}
