/** A command that runs inside an instance and exits with 0 while the instance is healthy. */
export interface HealthProgram {
  argv: string[]
  /** Timeout of a single run. */
  timeoutSeconds: number
  /** Time after the start of the instance by which it must be healthy. */
  withinSeconds: number
  /** Interval at which the engine runs it. Absent in plans stored by older versions. */
  intervalSeconds?: number
  retries?: number
  startPeriodSeconds?: number
}

/** Docker's own defaults. */
const defaults = { intervalSeconds: 30, timeoutSeconds: 30, retries: 3, startPeriodSeconds: 0 }
const maxSeconds = 600

/** A health program with Docker's defaults for every number that is absent or not positive. */
export function healthProgramWith(argv: string[], readValue: (name: keyof typeof defaults) => unknown): HealthProgram {
  const number = (name: keyof typeof defaults) => {
    const value = readValue(name)
    return typeof value === 'number' && value > 0 ? value : defaults[name]
  }
  const [timeoutSeconds, intervalSeconds] = [number('timeoutSeconds'), number('intervalSeconds')]
  const [retries, startPeriodSeconds] = [number('retries'), number('startPeriodSeconds')]
  const withinSeconds = Math.min(maxSeconds, startPeriodSeconds + retries * (intervalSeconds + timeoutSeconds))
  return { argv, timeoutSeconds, withinSeconds, intervalSeconds, retries, startPeriodSeconds }
}
