import { within } from './within.ts'
import { type MethodNames, wrapMethods } from './wrap-methods.ts'

type ArgumentsOf<Function> = Function extends (...args: infer Args) => unknown ? Required<Args> : []

/** Indexes of the arguments that are signals. */
type SignalPosition<Args> = {
  [Place in keyof Args]: Args[Place] extends AbortSignal ? (Place extends `${infer At extends number}` ? At : never) : never
}[keyof Args & `${number}`]

export interface TimeLimit<Function> {
  ms: number
  /** Index of the caller's signal argument. Required where the method takes one, so that a call that times out is also aborted. */
  signalIndex: [SignalPosition<ArgumentsOf<Function>>] extends [never] ? null : SignalPosition<ArgumentsOf<Function>>
}

export type TimeLimits<Driver> = { [Method in MethodNames<Driver>]?: TimeLimit<Driver[Method]> }

/** A driver call exceeded its time limit. */
export class DriverTimedOut extends Error {
  override readonly name = 'DriverTimedOut'
}

interface Options<Driver> {
  /** Subject of the error message: `the edge`. */
  title: string
  limits: TimeLimits<Driver>
  /** Creates the error that the interface promises. */
  timeoutError?: (message: string) => Error
}

/**
 * Wraps a driver so that its calls end in time even if it ignores signals. The caller's own abort still ends a call at once, with
 * its own reason.
 */
export function withTimeLimits<Driver extends object>(
  driver: Driver,
  { title, limits, timeoutError = timedOut }: Options<Driver>,
): Driver {
  const table = limits as Record<string, { ms: number; signalIndex: number | null }>
  return wrapMethods(driver, Object.keys(limits) as MethodNames<Driver>[], (call, args, method) => {
    const { ms, signalIndex } = table[method]!
    const callerSignal = signalIndex === null ? undefined : (args[signalIndex] as AbortSignal | undefined)
    const work = (signal: AbortSignal) =>
      call(...(signalIndex === null ? args : withSignalAt(args, signalIndex, signal))) as Promise<unknown>
    return within(
      { ms, abort: callerSignal, timeoutError: () => timeoutError(`${title} did not answer within ${ms / 1000} s`) },
      work,
    )
  })
}

const timedOut = (message: string) => new DriverTimedOut(message)

function withSignalAt(args: readonly unknown[], at: number, signal: AbortSignal): unknown[] {
  const replaced = [...args]
  replaced[at] = signal
  return replaced
}
