// Durations of the test files: Vitest starts the longest first, and a quick run leaves the long ones out.
// durations.json is committed and updated by `npm run test:matrix`. Every other whole run stores its own durations in node_modules.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../programs.mjs'

const committed = join(root, 'scripts', 'test', 'durations.json')
const local = join(root, 'node_modules', '.berth-test-durations.json')

/** Returns seconds by project and file. A missing file took less than a second, or is new. */
export function committedDurations() {
  return read(committed)
}

/** Returns the durations of the last run, and the committed ones for files that the last run left out. */
export function lastDurations() {
  return merge(read(committed), read(local))
}

/** Stores the durations of a run; `files` as in its tally. A matrix run, which runs every file, also updates the committed file. */
export function keepDurations(files, { isMatrix }) {
  const measured = {}
  for (const { project, path, seconds } of files) {
    measured[project] ??= {}
    if (seconds >= 1) measured[project][path] = Math.round(seconds)
  }
  write(local, merge(read(local), measured))
  if (isMatrix) write(committed, measured)
}

function merge(older, newer) {
  const projects = new Set([...Object.keys(older), ...Object.keys(newer)])
  return Object.fromEntries([...projects].map((name) => [name, { ...older[name], ...newer[name] }]))
}

function read(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

function write(file, durations) {
  const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([one], [other]) => (one < other ? -1 : 1)))
  const text = JSON.stringify(
    sorted(Object.fromEntries(Object.entries(durations).map(([key, value]) => [key, sorted(value)]))),
    null,
    2,
  )
  writeFileSync(file, `${text}\n`)
}
