import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { parseInSlices } from './sliced-json.ts'

const large = (value: unknown) => Array.from({ length: 8_000 }, () => value)
const text = 'a "quoted" \\ back\\"slash, [brackets] {braces} é \u2028'.repeat(3)

const values: [string, unknown][] = [
  ['null', null],
  ['a small list', [1, 'two', { three: [] }]],
  ['a list of records', large({ id: 1, text, inner: [[], {}, null, -1.5e3] })],
  ['a record of lists', { first: large(text), second: large(7), third: { deep: large({ text }) }, last: 1 }],
  ['keys without end', Object.fromEntries(large(text).map((value, key) => [`key ${key} "`, value]))],
  ['one long text', [text.repeat(2_000), 1]],
  ['a list in lists', [[[large([text])]], large([])]],
  ['small and large in turn', [1, large(1), 2, large(large(1).slice(0, 50)), 3]],
]
test.each(values)('%s is what JSON.parse makes of it, with and without spaces', async (_, value) => {
  for (const space of [undefined, 2]) expect(await parseInSlices(JSON.stringify(value, null, space))).toEqual(value)
})

const list = JSON.stringify(large(text)).slice(1, -1)
test.each([
  ['', 'nothing'],
  [`[${list}`, 'a list that does not end'],
  [`[${list}}`, 'a list that ends as a record'],
  [`[${list},,${list}]`, 'a missing member'],
  [`[${list},]`, 'a comma at the end'],
  [`[,${list}]`, 'a comma at the beginning'],
  [`{${list}}`, 'a record without keys'],
  [`{"a" [${list}]}`, 'a key without a colon'],
  [`{a: [${list}]}`, 'a key that is no text'],
  [`[${list}, "open]`, 'a text that does not end'],
  [`${'['.repeat(300_000)}${']'.repeat(300_000)}`, 'lists in each other without end'],
])('text that JSON.parse refuses is refused: %#, %s', async (wrong) => {
  await expect(parseInSlices(wrong)).rejects.toThrow(SyntaxError)
})

test('a key of the prototype is an ordinary key', async () => {
  const parsed = (await parseInSlices(`{"__proto__": {"admin": true}, "list": [${list}]}`)) as { admin?: boolean }
  expect(parsed.admin).toBeUndefined()
})

test('other work has its turn while a large text is parsed', async () => {
  let turns = 0
  let isOver = false
  const counting = (async () => {
    while (!isOver) {
      turns += 1
      await turn()
    }
  })()
  const records = JSON.stringify(Array.from({ length: 8 }, () => large({ id: 1, text })))
  await parseInSlices(records)
  isOver = true
  await counting
  // At least one for each 256 KB.
  expect(turns).toBeGreaterThan(records.length / 256 / 1024)
})

test('only the requested part of a long list is parsed; short lists and records are whole', async () => {
  const value = { long: large({ text }), short: [1, 2, 3], record: Object.fromEntries(large(text).map((one, key) => [key, one])) }
  const parsed = (await parseInSlices(JSON.stringify(value), 2)) as typeof value
  expect(parsed.long.length).toBeGreaterThanOrEqual(2)
  expect(parsed.long.length).toBeLessThan(1_000)
  expect(parsed.long).toEqual(value.long.slice(0, parsed.long.length))
  expect(parsed).toMatchObject({ short: value.short, record: value.record })
})
