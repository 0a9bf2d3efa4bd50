// How long each test file took: Vitest starts the longest first, and a quick run leaves the long ones out.
// durations.json is committed and renewed by `npm run test:matrix`. Every other whole run keeps its own figures beside the packages.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../programs.mjs'

const committed = join(root, 'scripts', 'test', 'durations.json')
const local = join(root, 'node_modules', '.berth-test-durations.json')

/** Seconds by project, then by file. A file that is missing took less than a second, or is new. */
export function committedDurations() {
  return read(committed)
}

/** The last run's figures, and the committed ones for files that it did not run. */
export function lastDurations() {
  return merge(read(committed), read(local))
}

/** Keeps the figures of a run: `files` as the tally lists them. A matrix run, which runs everything, also renews the committed file. */
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
