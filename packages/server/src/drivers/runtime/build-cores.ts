import { readFileSync } from 'node:fs'

/**
 * The processor cores that builds may use, as the kernel writes them (`1-3,5`): all but the first, so that whatever serves has
 * one that no build can take. A share alone is not enough: a build that forks without end keeps the kernel itself busy.
 * null on a machine with one core, and where cores have no numbers.
 */
export function buildCores(readStatus = () => readFileSync('/proc/self/status', 'utf8')): string | null {
  try {
    const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readStatus()) ?? []
    return list ? withoutFirst(list) : null
  } catch {
    return null
  }
}

function withoutFirst(list: string): string | null {
  const [range, ...others] = list.split(',') as [string, ...string[]]
  const [from, to = from] = range.split('-').map(Number) as [number, number?]
  const rest = from === to ? others : [from + 1 === to ? `${to}` : `${from + 1}-${to}`, ...others]
  return rest.join(',') || null
}
