import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiTests, gateLinesOf } from './test/selection.ts'

const root = join(import.meta.dirname, '..')
const textOf = (path: string) => readFileSync(join(root, path), 'utf8')
const endToEndTests = globSync('tests/e2e/*.test.ts', { cwd: root })

test('every gate line of a test file is valid and in a file where it has an effect', () => {
  for (const path of [...apiTests, ...endToEndTests]) {
    const written = textOf(path)
      .split('\n')
      .filter((line) => line.startsWith('// gate:'))
    const understood = gateLinesOf(path)
    expect([path, understood.length]).toEqual([path, written.length])
    for (const { axis } of understood) {
      const hasEffect = axis === 'PostgreSQL' ? apiTests.includes(path) : textOf(path).includes('describeOnRuntimes(')
      expect([path, axis, hasEffect]).toEqual([path, axis, true])
    }
  }
})

test('a file that kills control planes runs on both databases', () => {
  const killing = apiTests.filter((path) => /kit\/lives\.ts|\/killable\.ts|-lives\.ts/.test(textOf(path)))
  expect(killing.length).toBeGreaterThan(2)
  for (const path of killing) expect([path, gateLinesOf(path).map(({ axis }) => axis)]).toEqual([path, ['PostgreSQL']])
})
