import { afterEach, expect, test, vi } from 'vitest'
import { plainText } from './plain-text.ts'

const coloured = '\x1b[31mred\x1b[0m'
const hostile = '\x1b]0;title\x07\x1b[2J\x1b[1Aover\x08written\r'
afterEach(() => vi.unstubAllEnvs())

test('on a terminal colours are kept; sequences that move the cursor or set the title are removed', () => {
  vi.stubEnv('NO_COLOR', undefined)
  expect(plainText(`${coloured}${hostile}`, { isTTY: true })).toBe(`${coloured}overwritten`)
})

test('colours and control sequences are removed for a pipe, and for a terminal with NO_COLOR set', () => {
  vi.stubEnv('NO_COLOR', undefined)
  expect(plainText(`${coloured}${hostile}`, {})).toBe('redoverwritten')
  vi.stubEnv('NO_COLOR', '1')
  expect(plainText(`${coloured}${hostile}`, { isTTY: true })).toBe('redoverwritten')
})

test.each(['\x1bc', '\x1b(0', '\x1b#8', '\x1b7', '\x9b2J', '\x1b\x1b[2J', '\x1b[2\x00J', '\x1b\x00c', '\x1b\x1b[31m[2J'])(
  '%j leaves no control sequence that resets the terminal or moves the cursor',
  (text) => {
    vi.stubEnv('NO_COLOR', undefined)
    expect(plainText(text, { isTTY: true }).replaceAll('\x1b[31m', '')).not.toMatch(/[\x1b\x80-\x9f]/)
  },
)
