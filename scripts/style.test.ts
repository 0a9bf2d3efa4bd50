import { expect, test } from 'vitest'
import { countsOf, exceeded, findEverywhere, findWording, lowered, readCeiling } from './style.ts'

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
  expect(Object.entries(found).filter(([, places]) => places.length > 0)).toEqual([
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

test('a count above its ceiling fails, and an update only lowers the ceiling', () => {
  const ceiling = { prepositionOpenings: 3, pronounOpenings: 3, vaguePersonLines: 3 }
  const counts = { prepositionOpenings: 4, pronounOpenings: 3, vaguePersonLines: 2 }
  expect(exceeded(counts, ceiling)).toEqual(['prepositionOpenings'])
  expect(lowered(counts, ceiling)).toEqual({ prepositionOpenings: 3, pronounOpenings: 3, vaguePersonLines: 2 })
})

test('no count of this clone is above its ceiling; node scripts/style.ts --list <count> prints the places', () => {
  expect(exceeded(countsOf(findEverywhere()), readCeiling())).toEqual([])
})
