import { expect, test } from 'vitest'
import { plainText, styledText } from './ansi.ts'

const e = '\x1b['

test.each([
  ['plain', [{ text: 'plain' }]],
  [
    `${e}31mred${e}0m and ${e}1;92mbold${e}22m not`,
    [
      { text: 'red', color: 'red' },
      { text: ' and ' },
      { text: 'bold', color: 'bright-green', isBold: true },
      { text: ' not', color: 'bright-green' },
    ],
  ],
  [
    `${e}38;5;196mcube${e}48;2;1;2;3mback${e}39;49mend`,
    [{ text: 'cube', color: '#ff0000' }, { text: 'back', color: '#ff0000', background: '#010203' }, { text: 'end' }],
  ],
  [
    `${e}38;5;9mlow ${e}38;5;244mgrey`,
    [
      { text: 'low ', color: 'bright-red' },
      { text: 'grey', color: '#808080' },
    ],
  ],
])('colours of a line become pieces: %j', (line, pieces) => {
  expect(styledText(line)).toEqual(pieces)
})

test.each([
  ['cursor moves and erasing', `${e}2K${e}1Gdone${e}?25h`, 'done'],
  ['a title and a link', '\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\', 'link'],
  ['a progress bar that writes over its line', '10%\r50%\r100%\r', '100%'],
  ['bells, backspaces and C1 controls', 'a\x07b\x08c\x9b31md\x00', 'abcd'],
  ['a sequence that is cut off', `text${e}38;5`, 'text'],
  ['codes that are not numbers or too large', `${e}38;2;999;0;0mx${e}99999999mx${e}mx`, 'xxx'],
])('%s are never shown raw', (_, line, visible) => {
  expect(plainText(line)).toBe(visible)
  expect(
    styledText(line)
      .map(({ text }) => text)
      .join(''),
  ).toBe(visible)
})

test('a hostile line has a bounded number of pieces and loses no text', () => {
  const pieces = styledText(`${e}31ma${e}32mb`.repeat(20_000))
  expect(pieces.length).toBeLessThanOrEqual(500)
  expect(pieces.map(({ text }) => text).join('').length).toBe(40_000)
})
