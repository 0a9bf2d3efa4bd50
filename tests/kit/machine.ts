import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, TestRunner } from 'vitest'

/** Parts of the test machine that a test may need, and their setting in scripts/test-machine.sh. */
const settingOf = {
  postgres: 'POSTGRES_URL',
  docker: 'DOCKER_SOCKET',
  dockerIsolation: 'DOCKER_ISOLATED',
  busyboxImage: 'IMAGE_BUSYBOX',
  nodeImage: 'IMAGE_NODE',
  pythonImage: 'IMAGE_PYTHON',
  postgresImage: 'IMAGE_POSTGRES',
  mariadbImage: 'IMAGE_MARIADB',
  redisImage: 'IMAGE_REDIS',
  sshd: 'SSHD',
  nginx: 'NGINX',
  chromium: 'CHROMIUM',
  pebble: 'PEBBLE',
  challtestsrv: 'PEBBLE_CHALLTESTSRV',
  wrk: 'WRK',
  git: 'GIT',
  age: 'AGE',
  gh: 'GH',
  s3: 'S3_URL',
  bwrap: 'BWRAP',
  registry: 'REGISTRY',
} as const

export type Part = keyof typeof settingOf

/** Returns the part's value inside a test (or its beforeEach), or skips the test with the reason why there is none. */
export function need(part: Part): string {
  const found = lookUp(part)
  if ('value' in found) return found.value
  const test = TestRunner.getCurrentTest()
  if (!test) throw new Error(`need('${part}') is for a running test; a suite takes describeNeeding(). ${found.reason}`)
  return test.context.skip(`${part}: ${found.reason}`)
}

/** A suite whose beforeAll needs parts of the machine: without them none of its hooks runs, and its title contains the reason. */
export function describeNeeding(parts: readonly Part[], title: string, body: () => void): void {
  const reasons = parts.flatMap((part) => {
    const found = lookUp(part)
    return 'reason' in found ? [`${part}: ${found.reason}`] : []
  })
  if (reasons.length === 0) describe(title, body)
  else describe.skip(`${title} (skipped: ${reasons.join('; ')})`, body)
}

/** The part's value; for code outside tests, such as a suite inside describeNeeding. */
export function partOf(part: Part): string {
  const found = lookUp(part)
  if ('value' in found) return found.value
  throw new Error(`${part}: ${found.reason}`)
}

export function lookUp(part: Part): { value: string } | { reason: string } {
  const name = `BERTH_TEST_${settingOf[part]}`
  const settings = { ...machineFile(), ...process.env }
  const value = settings[name]
  // The value 0 means that the engine's networks are not isolated; that is a reason to skip, not a value.
  if (part === 'dockerIsolation' && value === '0') return { reason: 'another Docker engine runs on this machine' }
  if (value) return { value }
  return { reason: settings[`${name}_MISSING`] ?? 'the test machine is not running: scripts/test-machine.sh start' }
}

/**
 * Settings in the file of a running test machine. The file is read at each call: `npx vitest` then finds a machine that was started
 * by hand, without environment variables.
 */
function machineFile(): Record<string, string> {
  const folder = process.env.BERTH_TEST_MACHINE_DIR ?? join(import.meta.dirname, '..', '..', '.test-machine')
  let text: string
  try {
    text = readFileSync(join(folder, 'env'), 'utf8')
  } catch {
    return {}
  }
  const lines = text.split('\n').filter((line) => line.includes('='))
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}
