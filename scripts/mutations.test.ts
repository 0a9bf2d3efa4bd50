import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
// @ts-expect-error a program without types
import { locationOf, mutations } from './test/mutations.mjs'
import { apiTests, gateLinesOf } from './test/selection.ts'

const root = join(import.meta.dirname, '..')
const paths = globSync('packages/*/{src,tests}/**/*.ts', { cwd: root }).map((path) => join(root, path))

test('every mutation matches exactly one place in the source and names existing test files', () => {
  for (const mutation of mutations) {
    expect(locationOf(mutation, paths).path).toBeTruthy()
    for (const file of mutation.tests)
      expect(
        paths.some((path) => path.includes(file) && path.includes('.test.')),
        file,
      ).toBe(true)
  }
})

test('every test title that a mutation names exists in its test files', () => {
  const withTitle: { name: string; named: string; tests: string[] }[] = mutations.filter(({ named }: { named?: string }) => named)
  const missing = withTitle.filter(({ named, tests }) => {
    const files = paths.filter((path) => path.includes('.test.') && tests.some((file) => path.includes(file)))
    return !files.some((file) => readFileSync(file, 'utf8').includes(named))
  })
  expect(missing.map(({ name, named }) => `${name}: ${named}`)).toEqual([])
})

test('the test files of each PostgreSQL mutation run on PostgreSQL in the gate', () => {
  const onPostgres: { tests: string[] }[] = mutations.filter(({ project }: { project: string }) => project === 'api-postgres')
  for (const file of onPostgres.flatMap(({ tests }) => tests)) {
    const [path] = apiTests.filter((one) => one.includes(file))
    expect([file, path && gateLinesOf(path).map(({ axis }) => axis)]).toEqual([file, ['PostgreSQL']])
  }
})
