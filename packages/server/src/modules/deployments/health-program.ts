import type { Service } from '@berth/contract'

/** How a service itself says that it is healthy. */
export interface HealthProgram {
  argv: string[]
  /** For one run of it. */
  timeoutSeconds: number
  /** From the start of the service until it has to be healthy. */
  withinSeconds: number
}

/** Compose's own defaults. */
const usual = { intervalSeconds: 30, timeoutSeconds: 30, retries: 3 }
const longestSeconds = 600

/** From a service's `healthcheck`, as Compose writes it or as our reading of a Compose file gives it. */
export function healthProgramOf(healthcheck: Service['healthcheck']): HealthProgram | null {
  const argv = wordsOf(healthcheck?.test)
  if (!healthcheck || argv === null) return null
  const number = (name: string, instead: number) => {
    const value = healthcheck[name]
    return typeof value === 'number' && value > 0 ? value : instead
  }
  const timeoutSeconds = number('timeoutSeconds', usual.timeoutSeconds)
  const tries = number('retries', usual.retries) * (number('intervalSeconds', usual.intervalSeconds) + timeoutSeconds)
  return { argv, timeoutSeconds, withinSeconds: Math.min(longestSeconds, number('startPeriodSeconds', 0) + tries) }
}

function wordsOf(test: unknown): string[] | null {
  if (typeof test === 'string') return ['/bin/sh', '-c', test]
  if (Array.isArray(test)) return wordsOfList(test.map(String))
  if (typeof test !== 'object' || test === null || !('kind' in test)) return null
  if (test.kind === 'shell' && 'line' in test) return ['/bin/sh', '-c', String(test.line)]
  return test.kind === 'exec' && 'argv' in test && Array.isArray(test.argv) ? test.argv.map(String) : null
}

function wordsOfList([how, ...words]: string[]): string[] | null {
  if (how === 'CMD-SHELL') return ['/bin/sh', '-c', words.join(' ')]
  return how === 'CMD' && words.length > 0 ? words : null
}
