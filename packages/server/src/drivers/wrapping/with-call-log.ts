import type { Log } from '../../platform/log.ts'
import { type MethodNames, wrapMethods } from './wrap-methods.ts'

/**
 * Wraps a driver: each call of the named methods logs its duration, and its error if it failed. Arguments may contain secrets and
 * are never logged.
 */
export function withCallLog<Driver extends object>(
  driver: Driver,
  { title, log, methods }: { title: string; log: Log; methods: readonly MethodNames<Driver>[] },
): Driver {
  return wrapMethods(driver, methods, async (call, args, method) => {
    const startedAt = performance.now()
    const timing = () => ({ driver: title, method, durationMs: Math.round(performance.now() - startedAt) })
    try {
      const result = await call(...args)
      log.debug(timing(), `${title}: ${method}`)
      return result
    } catch (error) {
      log.debug({ ...timing(), err: error }, `${title}: ${method} failed`)
      throw error
    }
  })
}
