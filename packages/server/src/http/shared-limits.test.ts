import { expect, test } from 'vitest'
import { memorySignals } from '../platform/signals/memory.ts'
import type { Signals } from '../platform/signals/signals.ts'
import { RateLimiter } from './rate-limit.ts'

const limits = { login: 3, public: 100 }

/** Two processes of an instance, and the signals that were sent. */
function processes() {
  const [one, other] = [memorySignals(), memorySignals()]
  const sent: object[] = []
  const passing = (from: Signals, to: Signals): Signals => ({
    ...from,
    publish(topic, event) {
      sent.push(event)
      from.publish(topic, event)
      to.publish(topic, JSON.parse(JSON.stringify(event)))
    },
  })
  const limiters = [passing(one, other), passing(other, one)].map((signals) => {
    const limiter = new RateLimiter(() => 0, limits)
    limiter.share(signals)
    return limiter
  }) as [RateLimiter, RateLimiter]
  return { limiters, sent }
}

const isLimited = (limiter: RateLimiter, name: 'login' | 'public', key: string) => {
  try {
    limiter.count(name, key)
    return false
  } catch {
    return true
  }
}

test('login attempts count in every process, and an undone one in none', async () => {
  const { limiters, sent } = processes()
  const [one, other] = limiters
  for (let attempt = 0; attempt < 3; attempt++) one.count('login', 'client')
  one.count('login', 'right password')
  one.uncount('login', 'right password')
  await expect.poll(() => sent).toEqual([{ counts: [['login', 'client', 3]] }])
  expect(isLimited(other, 'login', 'client')).toBe(true)
  expect(isLimited(other, 'login', 'another client')).toBe(false)
  // Its own signal is not counted twice.
  expect(isLimited(one, 'login', 'right password')).toBe(false)
})

test('a client below a tenth of its limit sends no signal, one above is limited everywhere', async () => {
  const { limiters, sent } = processes()
  const [one, other] = limiters
  for (let n = 0; n < 9; n++) one.count('public', 'small')
  for (let n = 0; n < 100; n++) one.count('public', 'great')
  await expect.poll(() => sent).toEqual([{ counts: [['public', 'great', 91]] }])
  for (let n = 0; n < 8; n++) other.count('public', 'great')
  expect(isLimited(other, 'public', 'great')).toBe(false)
  expect(isLimited(other, 'public', 'great')).toBe(true)
})

test('many concurrent counts are split into signals within the size limit of PostgreSQL', async () => {
  const { limiters, sent } = processes()
  for (let n = 0; n < 500; n++) limiters[0].count('login', `client-${'x'.repeat(100)}-${n}`)
  await expect.poll(() => sent.flatMap((event) => (event as { counts: unknown[] }).counts).length).toBe(500)
  for (const event of sent) expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(7_800)
})
