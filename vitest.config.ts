import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/test/longest-first.ts'

const cores = availableParallelism()
/** What comes true by itself may take its time on a busy machine: not what it may take, but when it counts as hung. */
const polling = (timeout: number) => ({ poll: { timeout } })

/**
 * Unit and API tests compute: one worker a core, and one for those that wait. They share nothing but modules without state of
 * their own, so a worker keeps what it has loaded. CONTRIBUTING.md says what that asks of a file.
 */
const computing = {
  isolate: false,
  maxWorkers: cores + 1,
  sequence: { groupOrder: 0 },
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: polling(50_000),
}

/** End-to-end tests wait for programs, images and timers most of their time, and so do those of `programs`. */
const waiting = {
  maxWorkers: cores * 2 + 1,
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
]

/** Files that take many seconds each, most of them by trying every step: not in a quick run. */
const slow = process.env.BERTH_TEST_QUICK
  ? [
      '**/archive-store/{care,suite-sftp,suite-s3}.test.ts',
      '**/platform/jobs/*.test.ts',
      '**/platform/log-store/*.test.ts',
      '**/platform/{database,secrets/secret-box}.test.ts',
      '**/drivers/{reader,tarball}/*.test.ts',
      '**/drivers/git/named-sources.test.ts',
      '**/backups/{faults,killed,lost-key,restores,runs}.test.ts',
      '**/git-events/{killed,other-hosts,pull-requests,push}.test.ts',
      '**/git-host/{answers,repositories,trouble,webhooks}.test.ts',
      '**/cloud/{hostile-bundles,proxy,proxy-away,transfer}.test.ts',
      '**/access/{login-limits,sign-in,sign-up,streams-end}.test.ts',
      '**/projects/{git-cloud,uploads,upload-memory}.test.ts',
      '**/{deployments/watch,notifications/watchers}.test.ts',
      '**/edge/certificates.test.ts',
    ]
  : []

/** The API suite is one set of files, run once on each database. */
const api = (database: 'sqlite' | 'postgres') => ({
  test: {
    ...computing,
    name: `api-${database}`,
    include: ['packages/server/tests/**/*.test.ts'],
    // Bytes on their way into a file: 600 MB of them say the same on either database.
    exclude: [...configDefaults.exclude, ...slow, ...(database === 'postgres' ? ['**/upload-memory.test.ts'] : [])],
    env: { BERTH_TEST_DATABASE: database },
  },
})

const root = import.meta.dirname
const endToEndFiles = globSync(['tests/**/*.test.ts', 'bench/**/*.test.ts', 'scripts/**/*.test.ts'], { cwd: root })
const naming = (word: string) => endToEndFiles.filter((file) => readFileSync(join(root, file), 'utf8').includes(word))
const onRuntimes = naming('describeOnRuntimes(')
const onDocker = naming('describeOnDocker(')
const onDockerAlone = onDocker.filter((file) => !onRuntimes.includes(file))

/** Files that run on every runtime are run once for each, beside each other; the others belong to the first. */
const endToEnd = (runtime: 'process' | 'docker') => ({
  test: {
    ...waiting,
    name: `e2e-${runtime}`,
    include: runtime === 'docker' ? [...onRuntimes, ...onDocker] : endToEndFiles.filter((file) => !onDockerAlone.includes(file)),
    env: { BERTH_TEST_RUNTIME: runtime },
  },
})

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...computing,
          name: 'unit',
          include: ['packages/*/src/**/*.test.{ts,tsx}'],
          exclude: [...configDefaults.exclude, ...programs, ...slow],
        },
      },
      { test: { ...computing, ...waiting, name: 'unit-programs', include: programs } },
      api('sqlite'),
      api('postgres'),
      endToEnd('process'),
      endToEnd('docker'),
    ],
  },
})
