// npm test: installs, builds, checks and tests, also in a new clone. scripts/test/selection.ts selects the test files.
//   npm test -- --quick     unit tests and API tests on SQLite, without the files that take long
//   npm test -- --matrix    every API test on both databases, every end-to-end test on both runtimes; records when it was green
//   npm test -- <filter>    arguments of Vitest: parts of file names, -t <name>, --project <name>
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { install } from './install.mjs'
import { bundledNode, endBy, root, runProgram, secondsSince, tool, toolEnvironment } from './programs.mjs'
import { keepDurations } from './test/durations.mjs'
import { lastMatrix, recordMatrix } from './test/last-matrix.mjs'
import { startMachine, stopMachine } from './test/machine.mjs'
import { addTallies, matrixLine, timeLines } from './test/summary.mjs'

const quick = process.argv.includes('--quick')
const isMatrix = process.argv.includes('--matrix')
const filters = process.argv.slice(2).filter((word) => word !== '--quick' && word !== '--matrix')
const isWhole = !quick && filters.length === 0
const start = performance.now()
const startedAt = Date.now()
const troubles = []
const tallies = []
let interrupted

/**
 * Build and checks start beside the installation of the test machine, tests that compute beside the containers. Tests that wait for
 * programs, containers and timers start when all of these are done: beside the computing ones, tests with deadlines failed. With a
 * filter there is one run.
 */
const runs = isWhole
  ? {
      computing: ['unit', 'api-sqlite', 'api-postgres'],
      waiting: ['unit-programs', 'e2e-process', 'e2e-docker'],
    }
  : { all: quick ? ['unit', 'api-sqlite'] : [] }

// A signal from here on ends the current work and then this process, after the test machine was stopped.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => (interrupted = signal))

try {
  const machine = step('test machine', () => (quick ? {} : startMachine(['postgres', 'tools', 's3'])))
  if (await step('packages', install)) await runEverything(machine)
  await machine
} finally {
  await stopMachine()
}
if (interrupted) await endBy(interrupted)
await summary()

/** `machine`: the settings of its first parts. Checks and build need none of them and start at once. */
async function runEverything(machine) {
  const checks = [program('types', tool('tsc'), ['--noEmit', '-p', '.']), program('lint', tool('biome'), ['check', '.'])]
  const building = quick || program('build', bundledNode(), ['scripts/build.mjs'])
  const early = await machine
  // Unit and API tests need neither the build nor containers.
  const computing = runs.computing && early && runVitest('computing', early)
  // The images of the containers are built with Node from the packages.
  const settings = quick ? early : await step('test machine, containers', () => startMachine(['docker']))
  const built = await building
  await computing
  if (built && early && settings) await runVitest(isWhole ? 'waiting' : 'all', settings)
  await Promise.all(checks)
}

async function step(name, work) {
  if (interrupted) return undefined
  const began = performance.now()
  try {
    return await work()
  } catch (error) {
    console.error(error.message)
    troubles.push(name)
    return undefined
  } finally {
    console.log(`== ${name}: ${secondsSince(began)}`)
  }
}

/** Several programs run at once: the output of each is shown when it ends, and only if it failed or printed something. */
function program(name, path, args) {
  return step(name, async () => {
    const { code, output } = await runProgram(path, args, { quiet: true })
    if (output.trim()) console.log(output.trim())
    if (code !== 0) throw new Error(`${name} failed`)
    return true
  })
}

/** Runs Vitest on the projects of one of the runs, and adds its figures to the tallies. */
function runVitest(run, settings) {
  return step(run === 'all' ? 'tests' : `tests, ${run}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-tally-'))
    const file = join(folder, 'tally.json')
    try {
      const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'test', 'tally.mjs')}`]
      const named = runs[run].flatMap((name) => ['--project', name])
      const env = toolEnvironment({ ...settings, ...selection(), BERTH_TEST_TALLY: file })
      const { code } = await runProgram(tool('vitest'), ['run', ...reporters, ...named, ...filters], { env })
      if (interrupted) return
      if (code !== 0) troubles.push('tests')
      tallies.push(JSON.parse(readFileSync(file, 'utf8')))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

/** The setting that tells vitest.config.ts which files to leave out. With a filter it leaves out none. */
function selection() {
  if (quick) return { BERTH_TEST_SELECTION: 'quick' }
  return { BERTH_TEST_SELECTION: isWhole && !isMatrix ? 'gate' : 'all' }
}

async function summary() {
  const { passed, failed, skipped, brokenFiles, files } = addTallies(tallies)
  const seconds = Math.round((performance.now() - start) / 1000)
  console.log(`\n== summary after ${secondsSince(start)}`)
  for (const { place, name, reason } of skipped) console.log(`skipped: ${place} > ${name}: ${reason}`)
  for (const line of timeLines(files, startedAt)) console.log(line)
  const isGreen = troubles.length === 0 && failed.length + brokenFiles.length === 0
  if (isWhole && tallies.length === Object.keys(runs).length) keepDurations(files, { isMatrix: isMatrix && isGreen })
  if (isWhole && isMatrix && isGreen) await recordMatrix({ passed, skipped: skipped.length, seconds })
  if (isWhole) console.log(matrixLine(lastMatrix()))
  // Failures come last, so that the end of the output shows them.
  for (const { place, name, reason } of failed) console.log(`failed: ${place} > ${name}: ${reason}`)
  for (const place of brokenFiles) console.log(`could not be loaded: ${place}`)
  for (const name of new Set(troubles)) console.log(`failed: ${name}`)
  console.log(`${passed} passed, ${failed.length + brokenFiles.length} failed, ${skipped.length} skipped`)
  process.exitCode = isGreen ? 0 : 1
}
