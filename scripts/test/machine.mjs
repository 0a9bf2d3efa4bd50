// Starts and stops the test machine for this process, and reads its settings as environment variables.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runProgram } from '../programs.mjs'

const script = join(root, 'scripts', 'test-machine.sh')

/** Starts the named parts (without names: all) and returns the settings for the tests' environment. */
export async function startMachine(parts) {
  const { code } = await runProgram('bash', [script, 'start', '--for', String(process.pid), ...parts])
  if (code !== 0) throw new Error(`scripts/test-machine.sh ended with ${code}`)
  return readSettings()
}

/** Stops the test machine, unless another test run uses it or BERTH_TEST_KEEP_MACHINE=1. */
export async function stopMachine() {
  if (process.env.BERTH_TEST_KEEP_MACHINE === '1') return
  await runProgram('bash', [script, 'stop', '--for', String(process.pid)])
}

function readSettings() {
  const file = join(process.env.BERTH_TEST_MACHINE_DIR ?? join(root, '.test-machine'), 'env')
  if (!existsSync(file)) return {}
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}
