// npm test: everything, from a clone where nothing was ever installed.
//   npm test -- --quick     unit tests and API tests on SQLite, less the files that take long: see vitest.config.ts
//   npm test -- <filter>    words that Vitest takes: parts of file names, -t <name>, --project <name>
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { install } from './install.mjs'
import { bundledNode, endBy, root, runProgram, secondsSince, tool, toolEnvironment } from './programs.mjs'
import { startMachine, stopMachine } from './test/machine.mjs'

const quick = process.argv.includes('--quick')
const filters = process.argv.slice(2).filter((word) => word !== '--quick')
const projects = quick ? ['--project', 'unit', '--project', 'api-sqlite'] : []
const start = performance.now()
const troubles = []
let interrupted
let tally

// From here on a signal ends the work under way and then us, after the machine was stopped.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => (interrupted = signal))

try {
  // The images of the machine are made with Node from the packages; what it needs otherwise starts beside them.
  const [installed, settings] = await Promise.all([
    step('packages', install),
    step('test machine', () => (quick ? {} : startMachine(['postgres', 'tools', 's3']))),
  ])
  if (installed) await runEverything(settings)
} finally {
  await stopMachine()
}
if (interrupted) await endBy(interrupted)
summary()

async function runEverything(early) {
  const checks = [program('types', tool('tsc'), ['--noEmit', '-p', '.']), program('lint', tool('biome'), ['check', '.'])]
  const [settings, built] = await Promise.all([
    quick ? early : step('test machine, containers', () => startMachine(['docker'])),
    quick || program('build', bundledNode(), ['scripts/build.mjs']),
  ])
  if (built && early && settings) tally = await step('tests', () => runVitest(settings))
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

/** Several run at once: what one says is shown when it ends, and only where it failed or has something to say. */
function program(name, path, args) {
  return step(name, async () => {
    const { code, output } = await runProgram(path, args, { quiet: true })
    if (output.trim()) console.log(output.trim())
    if (code !== 0) throw new Error(`${name} failed`)
    return true
  })
}

async function runVitest(settings) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-tally-'))
  const file = join(folder, 'tally.json')
  try {
    const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'test', 'tally.mjs')}`]
    const env = toolEnvironment({ ...settings, BERTH_TEST_TALLY: file, ...(quick && { BERTH_TEST_QUICK: '1' }) })
    const { code } = await runProgram(tool('vitest'), ['run', ...reporters, ...projects, ...filters], { env })
    if (interrupted) return undefined
    if (code !== 0) troubles.push('tests')
    return JSON.parse(readFileSync(file, 'utf8'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function summary() {
  const { passed, failed, skipped, brokenFiles } = tally ?? { passed: 0, failed: [], skipped: [], brokenFiles: [] }
  console.log(`\n== summary after ${secondsSince(start)}`)
  for (const { place, name, reason } of skipped) console.log(`skipped: ${place} > ${name}: ${reason}`)
  // Last, so that whoever sees only the end of the output knows what to look at.
  for (const { place, name, reason } of failed) console.log(`failed: ${place} > ${name}: ${reason}`)
  for (const place of brokenFiles) console.log(`could not be loaded: ${place}`)
  for (const name of new Set(troubles)) console.log(`failed: ${name}`)
  console.log(`${passed} passed, ${failed.length + brokenFiles.length} failed, ${skipped.length} skipped`)
  process.exitCode = troubles.length > 0 || failed.length + brokenFiles.length > 0 ? 1 : 0
}
