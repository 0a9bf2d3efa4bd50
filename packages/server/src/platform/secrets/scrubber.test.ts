import { array, assert, property, string } from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { createScrubber } from './scrubber.ts'
import { Secret } from './secret.ts'

function scrubberOf(...values: (string | Secret)[]) {
  const scrubber = createScrubber()
  scrubber.register(...values)
  return scrubber
}

describe('scrubbing by value', () => {
  test('a registered value is replaced everywhere', () => {
    const { scrub } = scrubberOf('canary-1', new Secret('other-value'))
    expect(scrub('a canary-1, canary-1 and other-value.')).toBe('a [secret], [secret] and [secret].')
    expect(scrub('nothing here')).toBe('nothing here')
  })

  test('values under 6 characters are kept', () => {
    expect(scrubberOf('abc', '', 'fivec').scrub('abc fivec')).toBe('abc fivec')
  })

  test('nested and overlapping values are replaced completely', () => {
    expect(scrubberOf('secret', 'my-secret-value').scrub('x my-secret-value y')).toBe('x [secret] y')
    expect(scrubberOf('abcdefgh', 'efghijkl').scrub('--abcdefghijkl--')).toBe('--[secret]--')
  })

  test('the end of a partial match may begin another match', () => {
    expect(scrubberOf('aaaaab', 'aabccc').scrub('aaaabccc')).toBe('aa[secret]')
  })

  test('a value is found encoded in JSON and URLs', () => {
    const value = 'p"w\n&d/é=1'
    const { scrub } = scrubberOf(value)
    expect(scrub(JSON.stringify({ value }))).toBe('{"value":"[secret]"}')
    expect(scrub(`https://example.com/?p=${encodeURIComponent(value)}`)).toBe('https://example.com/?p=[secret]')
  })

  test('each line of a private key is found', () => {
    const line = 'MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn'
    expect(scrubberOf(`-----BEGIN KEY-----\n${line}\n-----END KEY-----\n`).scrub(`2 | ${line}`)).toBe('2 | [secret]')
  })

  test('a long value is found completely, and truncated except for less than one piece', () => {
    const value = Array.from({ length: 500 }, (_, at) => `${at}.`).join('')
    const { scrub } = scrubberOf(value)
    expect(scrub(`<${value}>`)).toBe('<[secret]>')
    const cut = scrub(`<${value.slice(0, 1000)}`)
    expect(cut.startsWith('<[secret]')).toBe(true)
    expect(cut.length).toBeLessThan(1 + '[secret]'.length + 64)
  })

  test('a line of JSON stays valid if the value is part of a number', () => {
    const { scrubJson } = scrubberOf('123456')
    expect(JSON.parse(scrubJson('{"time":99123456,"n":5,"id":"x123456"}\n'))).toEqual({ time: '[secret]', n: 5, id: 'x[secret]' })
    expect(scrubJson('{"n":1}\n')).toBe('{"n":1}\n')
    expect(scrubJson('not json 123456')).toBe('not json [secret]')
  })
})

test('the result equals replacing the values one by one', () => {
  const letters = string({ unit: 'grapheme-ascii', minLength: 6, maxLength: 9 }).map((text) =>
    text.replace(/[^ab]/g, (letter) => (letter < 'M' ? 'a' : 'b')),
  )
  assert(
    property(array(letters, { maxLength: 12 }), array(letters, { maxLength: 12 }), (values, words) => {
      const scrubber = createScrubber()
      const text = words.join('')
      for (const value of values) {
        scrubber.register(value)
        scrubber.scrub(text)
      }
      return scrubber.scrub(text) === replaceNaively(text, values)
    }),
    { numRuns: 500 },
  )
})

describe('limits', () => {
  test('over the limit the oldest values are dropped', () => {
    const scrubber = createScrubber({ maxValues: 100 })
    for (let at = 0; at < 1000; at++) scrubber.register(`value-number-${at}-`)
    expect(scrubber.scrub('value-number-999- value-number-0-')).toBe('[secret] value-number-0-')
  })

  test('a value registered again is kept', () => {
    const scrubber = createScrubber({ maxValues: 100 })
    for (let at = 0; at < 1000; at++) scrubber.register(`value-number-${at}-`, 'the-constant-one')
    expect(scrubber.scrub('the-constant-one')).toBe('[secret]')
  })

  test('huge values count by their length', () => {
    const scrubber = createScrubber({ maxCharacters: 10_000 })
    for (let at = 0; at < 100; at++) scrubber.register(`${at}`.repeat(1000))
    expect(scrubber.scrub('9'.repeat(64).concat(' ', '99'.repeat(1000)))).toContain('[secret]')
  })

  test('with ten thousand values, scrubbing reads each character less than ten times', () => {
    const scrubber = createScrubber()
    for (let at = 0; at < 10_000; at++) {
      scrubber.register(`sk_live_${(at * 7919).toString(36)}_${at}`)
      scrubber.scrub('a short line')
    }
    const text = 'GET /api/projects 200 in 3 ms, token sk_live_none, reply sk_li sk_live_zz '.repeat(500)
    const checks = vi.spyOn(String.prototype, 'charCodeAt')
    scrubber.scrub(text)
    const each = checks.mock.calls.length / text.length
    checks.mockRestore()
    expect(each).toBeGreaterThanOrEqual(1)
    expect(each).toBeLessThan(10)
  })
})

/** Marks every place of every value, then replaces each run of marked characters that touch through a value. */
function replaceNaively(text: string, values: string[]): string {
  const spans: [number, number][] = []
  for (const value of values)
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) spans.push([at, at + value.length])
  spans.sort((left, right) => left[0] - right[0])
  let result = ''
  let done = 0
  for (let at = 0; at < spans.length; at++) {
    const start = spans[at]![0]
    let end = spans[at]![1]
    while (spans[at + 1] && spans[at + 1]![0] <= end) end = Math.max(end, spans[++at]![1])
    result += `${text.slice(done, start)}[secret]`
    done = end
  }
  return result + text.slice(done)
}
