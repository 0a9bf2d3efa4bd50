import { expect, test } from 'vitest'
import { parseBytes, parseSeconds } from './amounts.ts'

const mib = 1024 ** 2

test.each([
  ['512m', 512 * mib],
  ['512M', 512 * mib],
  ['512mb', 512 * mib],
  ['512MiB', 512 * mib],
  ['1.5g', 1536 * mib],
  ['2 GB', 2048 * mib],
  ['1t', 1024 ** 4],
  ['100k', 102400],
  ['1024b', 1024],
  ['1048576', mib],
  ['0', 0],
])('%s is a size', (text, bytes) => expect(parseBytes(text)).toBe(bytes))

test.each(['', 'm', '-1m', '1x', '1.m', '1e9', '512 mm', '99999999999999t'])('"%s" is not a size', (text) =>
  expect(parseBytes(text)).toBeNull(),
)

test.each([
  ['10s', 10],
  ['1m30s', 90],
  ['1h0m5s', 3605],
  ['500ms', 0.5],
  ['1.5s', 1.5],
  ['100us', 0.0001],
  ['15', 15],
])('%s is a duration', (text, seconds) => expect(parseSeconds(text)).toBe(seconds))

test.each(['', 's', '1d', '-5s', '1m 30s'])('"%s" is not a duration', (text) => expect(parseSeconds(text)).toBeNull())
