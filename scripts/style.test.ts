import { expect, test } from 'vitest'
import { countsOf, exceeded, findEverywhere, findInMarkdown, findWording, lowered, readCeiling } from './style.ts'

test.each([
  ['/** Of whose list it is. */', 'prepositionOpenings'],
  ['/**\n * Until then it waits.\n */', 'prepositionOpenings'],
  ['const a = 1 /** for tests */', 'prepositionOpenings'],
  ['/** One that waits. */', 'pronounOpenings'],
  ["/** What's frozen is kept. */", 'pronounOpenings'],
  ['/**\n   * Who asks for it.\n   */', 'pronounOpenings'],
  ['// Nobody reads it.', 'vaguePersonLines'],
  ["throw new Error('whoever asks')", 'vaguePersonLines'],
] as const)('%s counts as %s', (source, name) => {
  const found = findWording(`const before = 1\n${source}\n`)
  expect(Object.entries(found).filter(([, locations]) => locations.length > 0)).toEqual([
    [name, [expect.objectContaining({ line: 2 })]],
  ])
})

test.each([
  '/** Returns the lease. */',
  "const pattern = 'of/**' // of */",
  '// Of a plain comment nothing is counted.',
  '/** `of` it */',
])('%s counts as nothing', (source) => {
  expect(Object.values(findWording(source)).flat()).toEqual([])
})

const message = (columns: number) => 'word '.repeat(columns / 5).trim()

test.each([
  ['a paragraph', message(125)],
  ['a list item', `- ${message(120)}`],
  ['a line with a short link', `${message(120)} [link](page.md)`],
  ['a line after a code block', `\`\`\`\n${message(200)}\n\`\`\`\n${message(125)}`],
  ['a line after a table', `| ${message(200)} |\n\n${message(125)}`],
])('Markdown: %s over 120 columns counts', (_, page) => {
  const lines = page.split('\n')
  expect(findInMarkdown(page).longMarkdownLines).toEqual([{ line: lines.length, text: lines.at(-1) }])
})

test.each([
  ['a line of 120 columns', 'x'.repeat(120)],
  ['120 characters of two code units each', '🚢'.repeat(120)],
  ['a table', `| ${message(200)} |`],
  ['a code block', `~~~sh\n${message(200)}\n~~~`],
  ['a code block in a list', `- item\n  \`\`\`\n  ${message(200)}\n  \`\`\``],
  ['the address of a link', `[link](${'x'.repeat(200)})`],
  ['a bare address', `See https://example.com/${'x'.repeat(200)}`],
])('Markdown: %s does not count', (_, page) => {
  expect(findInMarkdown(page).longMarkdownLines).toEqual([])
})

test('Markdown: a table cell of more than two sentences counts', () => {
  const page =
    '| a | One. Two. Three |\n|---|---|\n| One. Two. | Four `a. b. c.` v1.2.3 \\| x. Five. |\n```\n| One. Two. Three. |\n```'
  expect(findInMarkdown(page).longTableCells).toEqual([{ line: 1, text: 'One. Two. Three' }])
})

test('Markdown: a line with a vague person counts, outside of code blocks', () => {
  const page = 'A client reads it.\nNobody reads it.\n```\nwhoever\n```'
  expect(findInMarkdown(page).vaguePersonInMarkdown).toEqual([{ line: 2, text: 'Nobody reads it.' }])
})

test('a count above its ceiling fails, and an update only lowers the ceiling', () => {
  const ceiling = {
    prepositionOpenings: 3,
    pronounOpenings: 3,
    vaguePersonLines: 3,
    longMarkdownLines: 0,
    longTableCells: 0,
    vaguePersonInMarkdown: 0,
  }
  const counts = {
    prepositionOpenings: 4,
    pronounOpenings: 3,
    vaguePersonLines: 2,
    longMarkdownLines: 0,
    longTableCells: 0,
    vaguePersonInMarkdown: 0,
  }
  expect(exceeded(counts, ceiling)).toEqual(['prepositionOpenings'])
  expect(lowered(counts, ceiling)).toEqual({
    prepositionOpenings: 3,
    pronounOpenings: 3,
    vaguePersonLines: 2,
    longMarkdownLines: 0,
    longTableCells: 0,
    vaguePersonInMarkdown: 0,
  })
})

test('no count of this clone is above its ceiling; node scripts/style.ts --list <count> prints the places', () => {
  expect(exceeded(countsOf(findEverywhere()), readCeiling())).toEqual([])
})
