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

test('each described pattern is that of a field', () => {
  const used = patternsIn(table.map(({ row: { body, query } }) => [body, query]))
  expect(describedPatterns.filter((pattern) => !used.has(pattern))).toEqual([])
})

test('no field of a project that is set by hand answers with a bare pattern', () => {
  const { services: _, ...byHand } = CreateProject.properties
  for (const pattern of patternsIn(byHand)) expect(patternText(pattern)).not.toContain(pattern)
})
