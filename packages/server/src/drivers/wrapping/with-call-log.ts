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
    const began = performance.now()
    const took = () => ({ driver: title, method, durationMs: Math.round(performance.now() - began) })
    try {
      const result = await call(...args)
      log.debug(took(), `${title}: ${method}`)
      return result
    } catch (error) {
      log.debug({ ...took(), err: error }, `${title}: ${method} failed`)
      throw error
    }
  })
}
