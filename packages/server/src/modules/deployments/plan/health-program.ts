import type { Service } from '@berth/contract'
import { type HealthProgram, healthProgramWith } from '../../../drivers/runtime/health-program.ts'

/**
 * The program of a service's `healthcheck`, in Compose syntax or as the Compose parser returns it. Null: the image's own check is
 * disabled. Undefined: no check is declared.
 */
export function healthProgramOf(healthcheck: Service['healthcheck']): HealthProgram | null | undefined {
  if (!healthcheck) return undefined
  if (isDisabled(healthcheck.test)) return null
  const argv = argvOf(healthcheck.test)
  return argv === null ? undefined : healthProgramWith(argv, (name) => healthcheck[name])
}

const isDisabled = (test: unknown): boolean =>
  Array.isArray(test) ? test[0] === 'NONE' : typeof test === 'object' && test !== null && 'kind' in test && test.kind === 'none'

function argvOf(test: unknown): string[] | null {
  if (typeof test === 'string') return ['/bin/sh', '-c', test]
  if (Array.isArray(test)) return argvOfList(test.map(String))
  if (typeof test !== 'object' || test === null || !('kind' in test)) return null
  if (test.kind === 'shell' && 'line' in test) return ['/bin/sh', '-c', String(test.line)]
  return test.kind === 'exec' && 'argv' in test && Array.isArray(test.argv) ? test.argv.map(String) : null
}

function argvOfList([form, ...args]: string[]): string[] | null {
  if (form === 'CMD-SHELL') return ['/bin/sh', '-c', args.join(' ')]
  return form === 'CMD' && args.length > 0 ? args : null
}
