// node scripts/mutations.mjs [--only 3,14] [--tested] [--tree folder]: checks that the tests notice each fault in mutations.mjs.
// For each fault, changes one line in a temporary copy of the tree, runs the test files that must notice it (as `npm test` selects
// them) and restores the line. Exits with 1 if a fault is missed. First runs the same tests without any fault, since they must pass;
// --tested skips this. --tree checks another checkout with its packages, to compare two versions.
// The tests find the test machine through the environment, or through the file of one that is running.
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './programs.mjs'
import { locationOf, mutations } from './test/mutations.mjs'

const { values } = parseArgs({
  options: { only: { type: 'string' }, tested: { type: 'boolean' }, tree: { type: 'string', default: root } },
})
const limitMs = 300_000
const numbered = mutations.map((mutation, at) => ({ ...mutation, number: at + 1 }))
const only = values.only?.split(',').map(Number)
const wanted = numbered.filter(({ number }) => !only || only.includes(number))
if (wanted.length === 0) throw new Error(`there is no mutation ${values.only}`)

const tree = realpathSync(values.tree)
const copy = realpathSync(mkdtempSync(join(tmpdir(), 'berth-mutations-')))
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))

const files = copyTree()
const places = wanted.map((mutation) => locationOf(mutation, files))
if (!values.tested) await checkTestsPass()
const missed = []
for (const [at, mutation] of wanted.entries()) {
  const { path, text } = places[at]
  writeFileSync(
    path,
    text.replace(mutation.search, () => mutation.replace),
  )
  const named = mutation.named ? ['-t', mutation.named] : []
  const { passed, by } = await run(mutation.project, [...named, ...mutation.tests])
  writeFileSync(path, text)
  if (passed) missed.push(mutation)
  console.log(`${passed ? 'MISSED' : 'caught'} ${mutation.number}. ${mutation.name}${passed ? '' : `\n          by ${by}`}`)
}
console.log(`\n${wanted.length - missed.length} of ${wanted.length} caught`)
process.exitCode = missed.length > 0 ? 1 : 0

/** Copies the tree and returns the paths of its source files. Each package is linked, but those of the workspace are the copy's own. */
function copyTree() {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: tree,
    encoding: 'utf8',
  })
  const kept = [...new Set(listed.split('\0'))].filter(Boolean)
  for (const path of kept) cpSync(join(tree, path), join(copy, path), { recursive: true })
  const packages = join(tree, 'node_modules')
  for (const name of readdirSync(packages)) {
    if (name === '@berth' || name.startsWith('.') !== (name === '.bin')) continue
    mkdirSync(join(copy, 'node_modules'), { recursive: true })
    symlinkSync(join(packages, name), join(copy, 'node_modules', name))
  }
  mkdirSync(join(copy, 'node_modules', '@berth'))
  for (const name of readdirSync(join(copy, 'packages')))
    symlinkSync(join(copy, 'packages', name), join(copy, 'node_modules', '@berth', name))
  return kept.filter((path) => path.startsWith('packages/')).map((path) => join(copy, path))
}

async function checkTestsPass() {
  for (const { number, tests } of wanted)
    for (const test of tests)
      if (!files.some((path) => path.includes(test) && path.includes('.test.')))
        throw new Error(`mutation ${number}: no test file is called ${test}`)
  for (const project of new Set(wanted.map((mutation) => mutation.project))) {
    const tests = wanted.filter((mutation) => mutation.project === project).flatMap((mutation) => mutation.tests)
    const { passed, output } = await run(project, ['--retry', '2', ...new Set(tests)], 4 * limitMs)
    if (!passed) throw new Error(`without any mutation the tests of ${project} do not pass:\n${output.slice(-3000)}`)
  }
}

function run(project, tests, withinMs = limitMs) {
  const vitest = join(copy, 'node_modules', '.bin', 'vitest')
  const args = ['run', '--project', project, '--bail', '1', '--reporter', 'dot', ...tests]
  const env = {
    ...process.env,
    NO_COLOR: '1',
    BERTH_TEST_SELECTION: 'gate',
    PATH: `${join(copy, 'node_modules', '.bin')}:${process.env.PATH}`,
  }
  env.BERTH_TEST_MACHINE_DIR ??= join(tree, '.test-machine')
  return new Promise((resolve, reject) => {
    const child = spawn(vitest, args, { cwd: copy, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    const end = () => process.kill(-child.pid, 'SIGKILL')
    const clock = setTimeout(end, withinMs)
    process.once('exit', end)
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(clock)
      process.off('exit', end)
      resolve({ passed: code === 0, output, by: signal ? 'the time limit' : firstFailure(output) })
    })
  })
}

/** Returns the name of the test that failed, so that the reader can check that the right test noticed the fault. */
function firstFailure(output) {
  const name = /FAIL\s+(.+)/.exec(output)?.[1]?.trim() ?? 'an error outside of any test'
  return output.includes('Test timed out') ? `${name} (timed out)` : name
}
