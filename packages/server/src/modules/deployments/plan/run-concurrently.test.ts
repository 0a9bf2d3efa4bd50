import { expect, test } from 'vitest'
import type { Unit } from './deployed.ts'
import { inDependencyOrder } from './run-concurrently.ts'

const unit = (service: string, ...dependsOn: string[]) => ({ service, dependsOn }) as unknown as Unit
const neverAborted = new AbortController().signal
const moment = () => new Promise((resolve) => setImmediate(resolve))

test('each unit starts once its dependencies are done; independent units start concurrently', async () => {
  const begun: string[] = []
  const ends = new Map(['db', 'cache', 'web', 'worker'].map((name) => [name, Promise.withResolvers<void>()]))
  const units = [unit('db'), unit('cache'), unit('web', 'db', 'cache'), unit('worker', 'db', 'elsewhere')]
  const all = inDependencyOrder(units, neverAborted, async ({ service }) => {
    begun.push(service)
    await ends.get(service)?.promise
    return service
  })
  await moment()
  expect(begun).toEqual(['db', 'cache'])
  ends.get('db')?.resolve()
  await moment()
  expect(begun).toEqual(['db', 'cache', 'worker'])
  for (const { resolve } of ends.values()) resolve()
  expect(await all).toEqual(['db', 'cache', 'web', 'worker'])
})

test('after a failure no further unit starts, and the failure is reported once the running ones have ended', async () => {
  const begun: string[] = []
  let hasEnded = false
  const all = inDependencyOrder([unit('bad'), unit('slow'), unit('after', 'slow')], neverAborted, async ({ service }, abort) => {
    begun.push(service)
    if (service === 'bad') throw new Error('it crashed')
    await new Promise((resolve) => abort.addEventListener('abort', resolve, { once: true }))
    await moment()
    hasEnded = true
  })
  await expect(all).rejects.toThrow('it crashed')
  expect([begun, hasEnded]).toEqual([['bad', 'slow'], true])
})

test('at most eight units run at once', async () => {
  let [now, limit] = [0, 0]
  await inDependencyOrder(
    Array.from({ length: 30 }, (_, at) => unit(`s${at}`)),
    neverAborted,
    async () => {
      limit = Math.max(limit, ++now)
      await moment()
      now -= 1
    },
  )
  expect(limit).toBe(8)
})
