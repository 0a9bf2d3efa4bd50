import { expect, test, vi } from 'vitest'
import { silentLog } from '../../platform/log.ts'
import { withCallLog } from './with-call-log.ts'
import { DriverTimedOut, withTimeLimits } from './with-time-limits.ts'

class Clerk {
  readonly #name = 'Ada'
  readonly signals: AbortSignal[] = []

  async greet(word: string, abort?: AbortSignal): Promise<string> {
    if (abort) this.signals.push(abort)
    return word === 'never' ? new Promise<string>(() => {}) : `${word}, ${this.#name}`
  }

  async count(): Promise<number> {
    return new Promise<number>(() => {})
  }

  title(): string {
    return this.#name
  }
}

const limited = (clerk: Clerk, ms: number) =>
  withTimeLimits(clerk, { title: 'the clerk', limits: { greet: { ms, signalIndex: 1 }, count: { ms, signalIndex: null } } })

test('a wrapped driver returns the same values, and keeps methods that are not wrapped', async () => {
  const driver = limited(new Clerk(), 60_000)
  expect(await driver.greet('Good day')).toBe('Good day, Ada')
  expect(driver.title()).toBe('Ada')
  expect(driver).toBeInstanceOf(Clerk)
})

test('a call that ignores its signal ends at its limit with a message, and its signal is aborted', async () => {
  const clerk = new Clerk()
  const driver = limited(clerk, 20)
  await expect(driver.greet('never')).rejects.toThrow(new DriverTimedOut('the clerk did not answer within 0.02 s'))
  expect(clerk.signals[0]?.reason).toBeInstanceOf(DriverTimedOut)
  await expect(driver.count()).rejects.toBeInstanceOf(DriverTimedOut)
})

test('the timeout error can be one of the interface', async () => {
  const timeoutError = (message: string) => new RangeError(message)
  const driver = withTimeLimits(new Clerk(), { title: 'it', limits: { count: { ms: 5, signalIndex: null } }, timeoutError })
  await expect(driver.count()).rejects.toBeInstanceOf(RangeError)
})

test('an abort of the caller ends a call at once with its reason, also before its start', async () => {
  const clerk = new Clerk()
  const driver = limited(clerk, 60_000)
  const stop = new AbortController()
  const greeted = driver.greet('never', stop.signal)
  stop.abort(new Error('enough'))
  await expect(greeted).rejects.toThrow('enough')
  expect(clerk.signals[0]?.reason).toBe(stop.signal.reason)
  await expect(driver.greet('Good day', stop.signal)).rejects.toThrow('enough')
  expect(clerk.signals).toHaveLength(1)
})

test('the log has method, duration and failure of a call, and never its arguments', async () => {
  const log = { ...silentLog, debug: vi.fn() }
  const driver = withCallLog(limited(new Clerk(), 20), { title: 'clerk', log, methods: ['greet'] })
  await driver.greet('a secret')
  await driver.greet('never').catch(() => undefined)
  const reported = log.debug.mock.calls.map(([details, message]) => ({ message, failed: 'err' in details }))
  expect(reported).toEqual([
    { message: 'clerk: greet', failed: false },
    { message: 'clerk: greet failed', failed: true },
  ])
  expect(JSON.stringify(log.debug.mock.calls)).not.toContain('a secret')
})
