import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/test/longest-first.ts'
import { apiTestsOn, endToEndTestsOn, tooLongForQuick } from './scripts/test/selection.ts'

const cores = availableParallelism()
/** What comes true by itself may take its time on a busy machine: not what it may take, but when it counts as hung. */
const polling = (timeout: number) => ({ poll: { timeout } })

/**
 * Unit and API tests compute: one worker a core, and two for those that wait. They share nothing but modules without state of
 * their own, so a worker keeps what it has loaded. CONTRIBUTING.md says what that asks of a file.
 */
const computing = {
  isolate: false,
  maxWorkers: cores + 2,
  sequence: { groupOrder: 0 },
  // More room for short-lived objects: a fifteenth less processor time.
  execArgv: ['--max-semi-space-size=64'],
  // In the gate they get the processor time that others leave.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: polling(120_000),
}

/**
 * End-to-end tests wait for programs, images and timers most of their time, and so do those of `programs`: they use about a quarter
 * of a core each. They keep what they have loaded too: the kit's modules have no state.
 */
const waiting = {
  isolate: false,
  maxWorkers: cores * 3 + 1,
  sequence: { groupOrder: 1 },
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: polling(120_000),
}

/** Unit tests that start programs, containers or an edge of their own: beside the end-to-end tests, not in a quick run. */
const programs = [
  'packages/server/src/drivers/runtime/**/*.test.ts',
  'packages/server/src/drivers/git/git*.test.ts',
  'packages/server/src/drivers/shell/ssh/*.test.ts',
  'packages/server/src/edge-proxy/edge*.test.ts',
  'packages/server/src/drivers/{acme,edge}/suite.test.ts',
  'packages/server/src/drivers/edge/nginx/nginx-edge.test.ts',
]

/** Tests that run the sources start the folder reader from a bundle. */
const bundledReader = {
  globalSetup: ['scripts/test/bundle-reader.ts'],
  setupFiles: ['scripts/test/use-bundled-reader.ts'],
}

const unitTests = ['packages/*/src/**/*.test.{ts,tsx}']

/** The API suite is run once on each database; `selection.ts` says which files of it. */
const api = (database: 'sqlite' | 'postgres') => ({
  test: {
    ...computing,
    ...bundledReader,
    setupFiles: [...bundledReader.setupFiles, 'scripts/test/cheap-password-hashes.ts'],
    name: `api-${database}`,
    include: apiTestsOn(database),
    env: { BERTH_TEST_DATABASE: database },
  },
})

/** Files that run on every runtime are run once for each, beside each other; the others belong to the first. */
const endToEnd = (runtime: 'process' | 'docker') => ({
  test: {
    ...waiting,
    name: `e2e-${runtime}`,
    globalSetup: ['scripts/test/migrated-file.ts'],
    include: endToEndTestsOn(runtime),
    env: { BERTH_TEST_RUNTIME: runtime },
  },
})

const root = import.meta.dirname

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...computing,
          ...bundledReader,
          name: 'unit',
          include: unitTests,
          exclude: [...configDefaults.exclude, ...programs, ...tooLongForQuick('unit', globSync(unitTests, { cwd: root }))],
        },
      },
      { test: { ...waiting, ...bundledReader, name: 'unit-programs', include: programs } },
      api('sqlite'),
      api('postgres'),
      endToEnd('process'),
      endToEnd('docker'),
    ],
  },
})
