import { describe, expect, test } from 'vitest'
import { fixedScrubber } from './fixed-scrubber.ts'
import { createInstanceScrubber } from './instance-scrubber.ts'
import { Secret } from './secret.ts'

describe('a fixed set of values', () => {
  test('each is replaced, also encoded in JSON or in a URL', () => {
    const scrub = fixedScrubber(['canary-1', 'p"w\n&d/é=1'])
    expect(scrub('a canary-1')).toBe('a [secret]')
    expect(scrub(JSON.stringify({ value: 'p"w\n&d/é=1' }))).toBe('{"value":"[secret]"}')
  })

  test('short and everyday values are kept', () => {
    expect(fixedScrubber(['true', 'Production', '12345']).call(null, 'true Production 12345')).toBe('true Production 12345')
  })

  test('more values than the limit of the scrubber are all kept', () => {
    const values = Array.from({ length: 100 }, (_, at) => `${at}:`.padStart(8, 'x') + 'long '.repeat(12_000))
    const scrub = fixedScrubber(values)
    for (const value of values) expect(scrub(value.slice(0, 200))).toMatch(/^\[secret\]/)
  })
})

test('secrets of the instance are always scrubbed, whatever is registered later', () => {
  const scrubber = createInstanceScrubber([new Secret('canary-of-the-instance')])
  for (let at = 0; at < 30; at++) scrubber.register(`${at}${'y'.repeat(60_000)}`)
  expect(scrubber.scrub('canary-of-the-instance')).toBe('[secret]')
  expect(scrubber.scrubJson('{"a":"canary-of-the-instance"}')).toBe('{"a":"[secret]"}')
})
