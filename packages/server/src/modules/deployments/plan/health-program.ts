import type { Service } from '@berth/contract'
import { type HealthProgram, healthProgramWith } from '../../../drivers/runtime/health-program.ts'

/**
 * The program of a service's `healthcheck`, as Compose writes it or as our reading of a Compose file returns it. Null: it turns the
 * image's own check off. Undefined: it declares none.
 */
export function healthProgramOf(healthcheck: Service['healthcheck']): HealthProgram | null | undefined {
  if (!healthcheck) return undefined
  if (isNone(healthcheck.test)) return null
  const argv = messageOf(healthcheck.test)
  return argv === null ? undefined : healthProgramWith(argv, (name) => healthcheck[name])
}

const isNone = (test: unknown): boolean =>
  Array.isArray(test) ? test[0] === 'NONE' : typeof test === 'object' && test !== null && 'kind' in test && test.kind === 'none'

function messageOf(test: unknown): string[] | null {
  if (typeof test === 'string') return ['/bin/sh', '-c', test]
  if (Array.isArray(test)) return textOfList(test.map(String))
  if (typeof test !== 'object' || test === null || !('kind' in test)) return null
  if (test.kind === 'shell' && 'line' in test) return ['/bin/sh', '-c', String(test.line)]
  return test.kind === 'exec' && 'argv' in test && Array.isArray(test.argv) ? test.argv.map(String) : null
}

function textOfList([how, ...words]: string[]): string[] | null {
  if (how === 'CMD-SHELL') return ['/bin/sh', '-c', words.join(' ')]
  return how === 'CMD' && words.length > 0 ? words : null
}
