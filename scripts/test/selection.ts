// Selects the test files for each database and runtime. `npm test` runs every file on SQLite and on plain processes, and on
// PostgreSQL or Docker those with a `// gate:` line, which states the reason. `npm run test:matrix`, and Vitest run by hand, run
// every file on all of them.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
// @ts-expect-error a program without types
import { root } from '../programs.mjs'
// @ts-expect-error a program without types
import { committedDurations } from './durations.mjs'

type Axis = 'PostgreSQL' | 'Docker'
type Selection = 'all' | 'gate' | 'quick'

const selection = (process.env.BERTH_TEST_SELECTION ?? 'all') as Selection

/** The gate line at the top of a test file, such as `// gate: also on PostgreSQL, since two requests race for one name`. */
export const gateLine = /^\/\/ gate: also on (PostgreSQL|Docker), (since .+)$/gm

export const gateLinesOf = (path: string) =>
  [...readFileSync(join(root, path), 'utf8').matchAll(gateLine)].map(([, axis, reason]) => ({ axis: axis as Axis, reason }))

const isOn = (axis: Axis) => (path: string) => selection !== 'gate' || gateLinesOf(path).some((line) => line.axis === axis)

export const apiTests = globSync('packages/server/tests/**/*.test.ts', { cwd: root }).sort()
const endToEndTests = globSync(['tests/**/*.test.ts', 'bench/**/*.test.ts', 'scripts/**/*.test.ts'], { cwd: root }).sort()

/** The files of the API suite that run on the database. */
export function apiTestsOn(database: 'sqlite' | 'postgres'): string[] {
  if (database === 'sqlite') return apiTests.filter(isQuickEnough('api-sqlite'))
  // The upload of 600 MB goes to a file, which is the same work with either database.
  return apiTests.filter(isOn('PostgreSQL')).filter((path) => !path.endsWith('/upload-memory.test.ts'))
}

const naming = (call: string) => (path: string) => readFileSync(join(root, path), 'utf8').includes(call)

/** The end-to-end files that run on the runtime: one with describeOnDocker on Docker only, one with describeOnRuntimes on both. */
export function endToEndTestsOn(runtime: 'process' | 'docker'): string[] {
  const isOnBoth = naming('describeOnRuntimes(')
  const isOnDocker = naming('describeOnDocker(')
  if (runtime === 'process') return endToEndTests.filter((path) => isOnBoth(path) || !isOnDocker(path))
  return endToEndTests.filter((path) => (isOnBoth(path) ? isOn('Docker')(path) : isOnDocker(path)))
}

/** A quick run leaves out files that took this many seconds or more in the last matrix run. */
const quickSeconds = 3

function isQuickEnough(project: string): (path: string) => boolean {
  const seconds: Record<string, number> = committedDurations()[project] ?? {}
  return (path) => selection !== 'quick' || (seconds[path] ?? 0) < quickSeconds
}

export const tooLongForQuick = (project: string, paths: readonly string[]) =>
  paths.filter((path) => !isQuickEnough(project)(path))
