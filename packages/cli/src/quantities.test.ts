import { expect, test } from 'vitest'
import { byteSize, durationText } from './quantities.ts'

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [5_120, '5.1 kB'],
  [999_949, '999.9 kB'],
  [999_999, '1.0 MB'],
  [12_000_000, '12.0 MB'],
  [3_400_000_000, '3.4 GB'],
  [2e15, '2000.0 TB'],
])('%d bytes are %s', (bytes, text) => expect(byteSize(bytes)).toBe(text))

test.each([
  [-5, '0.0 s'],
  [340, '0.3 s'],
  [9_949, '9.9 s'],
  [9_999, '10 s'],
  [59_499, '59 s'],
  [59_700, '1 min 0 s'],
  [125_000, '2 min 5 s'],
])('%d ms are %s', (milliseconds, text) => expect(durationText(milliseconds)).toBe(text))
