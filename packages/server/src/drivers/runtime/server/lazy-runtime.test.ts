import { expect, test, vi } from 'vitest'
import type { InstanceChange, Runtime } from '../runtime.ts'
import { lazyRuntime } from './lazy-runtime.ts'

/** A runtime of which only the listeners and `list` work. */
function loadedRuntime() {
  const listeners = new Set<(change: InstanceChange) => void>()
  const runtime = {
    list: async () => [],
    onChange(listener: (change: InstanceChange) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: vi.fn(async () => undefined),
  } as unknown as Runtime
  const notify = (change: InstanceChange) => {
    for (const listener of listeners) listener(change)
  }
  return { runtime, notify }
}

const change = { kind: 'exited', reason: 'It exited with code 1' } as InstanceChange

test('listeners from before and after the load get changes until they unsubscribe', async () => {
  const { runtime, notify } = loadedRuntime()
  const load = vi.fn(async () => runtime)
  const lazy = lazyRuntime(load)
  const [first, second] = [vi.fn(), vi.fn()]
  const unsubscribe = lazy.onChange(first)
  await lazy.list()
  lazy.onChange(second)
  notify(change)
  unsubscribe()
  notify(change)
  expect(first).toHaveBeenCalledTimes(1)
  expect(second).toHaveBeenCalledTimes(2)
  expect(load).toHaveBeenCalledTimes(1)
})

test('a listener that unsubscribes during the load gets no change', async () => {
  const { runtime, notify } = loadedRuntime()
  const lazy = lazyRuntime(async () => runtime)
  const listener = vi.fn()
  lazy.onChange(listener)()
  await lazy.list()
  notify(change)
  expect(listener).not.toHaveBeenCalled()
})

test('a failed load is reported by calls, not by the subscription, and the next call loads again', async () => {
  const { runtime, notify } = loadedRuntime()
  const load = vi
    .fn<() => Promise<Runtime>>()
    .mockRejectedValueOnce(new Error('no space left on device'))
    .mockRejectedValueOnce(new Error('no space left on device'))
    .mockResolvedValue(runtime)
  const lazy = lazyRuntime(load)
  const listener = vi.fn()
  // An unhandled rejection here would fail the test run, as it would end the control plane.
  lazy.onChange(listener)
  await expect(lazy.list()).rejects.toThrow('no space left')
  await expect(lazy.list()).rejects.toThrow('no space left')
  expect(await lazy.list()).toEqual([])
  notify(change)
  expect(listener).toHaveBeenCalledTimes(1)
})

test('a runtime that was never loaded, or could not be loaded, can be closed', async () => {
  const { runtime } = loadedRuntime()
  await lazyRuntime(async () => runtime).close()
  expect(runtime.close).not.toHaveBeenCalled()
  const failed = lazyRuntime(() => Promise.reject(new Error('no space left on device')))
  failed.onChange(() => undefined)
  await failed.close()
  const loaded = lazyRuntime(async () => runtime)
  await loaded.list()
  await loaded.close()
  expect(runtime.close).toHaveBeenCalledTimes(1)
})
