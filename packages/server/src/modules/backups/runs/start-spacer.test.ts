import { expect, test } from 'vitest'
import { StartSpacer } from './start-spacer.ts'

const never = new AbortController().signal

test('the first run begins at once, the next some time after it', async () => {
  const apart = new StartSpacer()
  const began = performance.now()
  await apart.waitForSlot(0, never)
  const first = performance.now()
  await Promise.all([apart.waitForSlot(0, never), apart.waitForSlot(0, never)])
  // Two pauses, each longer than the time before the first.
  expect(performance.now() - first).toBeGreaterThan(2 * (first - began) + 1_000)
})

test('a run that has waited for long begins at once, also while others wait', async () => {
  const apart = new StartSpacer()
  await apart.waitForSlot(0, never)
  const order: string[] = []
  await Promise.all([
    apart.waitForSlot(0, never).then(() => order.push('waits')),
    apart.waitForSlot(16 * 60_000, never).then(() => order.push('has waited')),
  ])
  expect(order).toEqual(['has waited', 'waits'])
})

test('an aborted run stops waiting', async () => {
  const apart = new StartSpacer()
  const abort = new AbortController()
  await apart.waitForSlot(0, never)
  const waiting = apart.waitForSlot(0, abort.signal)
  abort.abort(new Error('shutdown'))
  await expect(waiting).rejects.toThrow()
})
