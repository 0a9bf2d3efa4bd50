import { readFileSync } from 'node:fs'

/**
 * CPUs that builds may use, in the kernel's notation (`1-3,5`): all but the first, which stays free for running projects. A CPU
 * weight alone is not enough: a build that forks endlessly keeps the kernel itself busy. Null on a machine with one CPU, and
 * where CPUs have no numbers.
 */
export function buildCores(readStatus = () => readFileSync('/proc/self/status', 'utf8')): string | null {
  try {
    const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readStatus()) ?? []
    return list ? withoutFirstCpu(list) : null
  } catch {
    return null
  }
}

function withoutFirstCpu(list: string): string | null {
  const [range, ...others] = list.split(',') as [string, ...string[]]
  const [from, to = from] = range.split('-').map(Number) as [number, number?]
  const rest = from === to ? others : [from + 1 === to ? `${to}` : `${from + 1}-${to}`, ...others]
  return rest.join(',') || null
}
