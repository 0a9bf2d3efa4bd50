import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { lookUp } from './machine.ts'
import { tempFolder } from './temp-folder.ts'

const root = join(import.meta.dirname, '..', '..')

describe('the settings of the test machine', () => {
  test('are read from the file of the machine, with any characters in the values', async () => {
    await using folder = await tempFolder('machine')
    await writeFile(join(folder.path, 'env'), 'BERTH_TEST_WRK=/opt/a b/wrk=2\nBERTH_TEST_SSHD_MISSING=sshd is not installed\n')
    vi.stubEnv('BERTH_TEST_MACHINE_DIR', folder.path)
    for (const name of ['WRK', 'SSHD', 'SSHD_MISSING', 'AGE', 'AGE_MISSING']) vi.stubEnv(`BERTH_TEST_${name}`, undefined)
    expect(lookUp('wrk')).toEqual({ value: '/opt/a b/wrk=2' })
    expect(lookUp('sshd')).toEqual({ reason: 'sshd is not installed' })
    expect(lookUp('age')).toEqual({ reason: expect.stringContaining('scripts/test-machine.sh start') })
    vi.unstubAllEnvs()
  })

  test('of the environment override the file', async () => {
    vi.stubEnv('BERTH_TEST_WRK', '/elsewhere/wrk')
    expect(lookUp('wrk')).toEqual({ value: '/elsewhere/wrk' })
    vi.unstubAllEnvs()
  })
})

test('every skipped test is counted with its reason, and a file that fails to load counts as failed', async () => {
  await using folder = await tempFolder('tally')
  const file = join(folder.path, 'tally.json')
  const reporter = join(root, 'scripts', 'test', 'tally.mjs')
  const args = [
    'run',
    '--root',
    join(import.meta.dirname, 'fixtures'),
    '--config',
    'vitest.fixtures.ts',
    `--reporter=${reporter}`,
  ]
  const env = {
    ...process.env,
    BERTH_TEST_TALLY: file,
    BERTH_TEST_MACHINE_DIR: folder.path,
    BERTH_TEST_WRK: '',
    VITEST: undefined,
  }
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const code = await promisify(execFile)(process.execPath, [vitest, ...args], { env }).then(
    () => 0,
    (error: { code: number }) => error.code,
  )
  expect(code).toBe(1)
  const { passed, failed, skipped, brokenFiles } = JSON.parse(await readFile(file, 'utf8'))
  expect({ passed, failed: failed.length, brokenFiles: brokenFiles.length }).toEqual({ passed: 1, failed: 1, brokenFiles: 1 })
  expect(failed[0]).toMatchObject({ name: expect.any(String), reason: expect.stringMatching(/\S/) })
  const reasons = Object.fromEntries(
    skipped.map((skip: { name: string; reason: string }) => [skip.name.split(' > ').at(-1), skip.reason]),
  )
  expect(reasons).toEqual({
    'needs a part': expect.stringMatching(/^wrk: the test machine is not running/),
    'in a suite that needs a part': expect.stringMatching(/^wrk: the test machine is not running/),
    'marked by hand': 'marked skip',
  })
})
