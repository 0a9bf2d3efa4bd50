import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Throttle } from './throttle.ts'

test('work that keeps the event loop busy leaves others their share before its next piece', async () => {
  const share = new Throttle()
  await share.next()
  work(300)
  expect(await isAtOnce(share.next())).toBe(false)
})

test('work that begins after a quiet time waits for nothing, however much was done before', async () => {
  const share = new Throttle()
  work(200)
  await pause(600)
  expect(await isAtOnce(share.next())).toBe(true)
})

function work(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until) Math.sqrt(until)
}

/** True if the promise settles within the next iterations of the event loop, before a timer fires. */
async function isAtOnce(promise: Promise<void>): Promise<boolean> {
  const later = new Promise<'later'>((resolve) => setTimeout(() => resolve('later'), 100))
  return (await Promise.race([promise, later])) !== 'later'
}
