import type { ContainerInspectInfo, HealthConfig } from 'dockerode'
import { type HealthProgram, healthProgramWith } from '../../health-program.ts'
import type { Instance, StartRequest } from '../../runtime.ts'

const nanoseconds = 1e9
const maxOutputLength = 200

/** Healthcheck setting of the engine. `null` disables the image's own; undefined keeps it. */
export function healthcheckFor(program: StartRequest['healthProgram']): { Healthcheck?: HealthConfig } {
  if (program === undefined) return {}
  if (program === null) return { Healthcheck: { Test: ['NONE'] } }
  const { argv, timeoutSeconds, intervalSeconds = 0, retries = 0, startPeriodSeconds = 0 } = program
  return {
    Healthcheck: {
      Test: ['CMD', ...argv],
      Timeout: timeoutSeconds * nanoseconds,
      Interval: intervalSeconds * nanoseconds,
      Retries: retries,
      StartPeriod: startPeriodSeconds * nanoseconds,
    },
  }
}

const engineNames = {
  timeoutSeconds: 'Timeout',
  intervalSeconds: 'Interval',
  retries: 'Retries',
  startPeriodSeconds: 'StartPeriod',
} as const

/** Health check of a container, from its image or its settings, with its current status. */
export function engineHealth({ Config, State }: Pick<ContainerInspectInfo, 'Config' | 'State'>): Pick<Instance, 'health'> {
  const { Healthcheck, Shell } = Config as { Healthcheck?: HealthConfig | null; Shell?: string[] | null }
  const argv = Healthcheck && argvOf(Healthcheck.Test ?? [], Shell ?? ['/bin/sh', '-c'])
  if (!argv) return {}
  const program: HealthProgram = healthProgramWith(argv, (name) => {
    const value = Healthcheck[engineNames[name]]
    return name === 'retries' || value === undefined ? value : value / nanoseconds
  })
  const { Status, Log } = State.Health ?? {}
  const output = (Log?.at(-1)?.Output ?? '').trim().slice(-maxOutputLength)
  return { health: { program, status: Status === 'healthy' || Status === 'unhealthy' ? Status : 'starting', output } }
}

function argvOf([form, ...words]: string[], shell: string[]): string[] | null {
  if (words.length === 0) return null
  if (form === 'CMD-SHELL') return [...shell, words.join(' ')]
  return form === 'CMD' ? words : null
}
