import { expect, test } from 'vitest'
import { CreateProject, table } from './index.ts'
import { describedPatterns, patternText } from './pattern-texts.ts'

function patternsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'pattern' && typeof inner === 'string') found.add(inner)
    else patternsIn(inner, found)
  }
  return found
}

test('each described pattern is used by a field', () => {
  const used = patternsIn(table.map(({ row: { body, query } }) => [body, query]))
  expect(describedPatterns.filter((pattern) => !used.has(pattern))).toEqual([])
})

test('no hand-set field of a project reports its raw regular expression', () => {
  const { services: _, ...byHand } = CreateProject.properties
  for (const pattern of patternsIn(byHand)) expect(patternText(pattern)).not.toContain(pattern)
})
