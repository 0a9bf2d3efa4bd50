import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withImportRules } from './layers.ts'

test('the import rules of biome.json are those of the layer table; node scripts/layers.ts writes them', () => {
  const config = JSON.parse(readFileSync(new URL('../biome.json', import.meta.url), 'utf8'))
  expect(withImportRules(config)).toEqual(config)
})
