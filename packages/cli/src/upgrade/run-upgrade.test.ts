import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RestoreFailed, recoverUpgrade, runUpgrade, type UpgradeEffects, type UpgradeStore } from './run-upgrade.ts'
import { pointedVersion } from './upgrade-files.ts'
import { isUnfinished, readRecord } from './upgrade-record.ts'
import { upgradeStore } from './upgrade-store.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-upgrade-'))
  writeFileSync(database(), 'schema 1')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const database = () => join(folder, 'berth.db')
const copy = () => join(folder, 'copy')
const schema = () => readFileSync(database(), 'utf8')

class Killed extends Error {}

/** Runs operations until the one that is killed; after it nothing happens any more. */
class Machine {
  operations: string[] = []
  running: string | null = '1.0.0'
  isDead = false
  #killAt: number
  constructor(killAt = Number.POSITIVE_INFINITY) {
    this.#killAt = killAt
  }

  /** Kills before the operation, or after it. */
  do<Result>(name: string, work: () => Result): Result {
    this.#tick(`before ${name}`)
    const result = work()
    this.#tick(`after ${name}`)
    return result
  }

  #tick(name: string): void {
    if (this.isDead) throw new Killed()
    if (this.operations.push(name) <= this.#killAt) return
    this.isDead = true
    this.running = null
    throw new Killed()
  }
}

function effectsOn(machine: Machine, changes: Partial<UpgradeEffects> = {}): UpgradeEffects {
  const effect = (name: string, work: () => unknown) => async () => void machine.do(name, work)
  return {
    rehearse: async () => machine.do('rehearse', () => null),
    backUp: async () => machine.do('backup', () => 'backup.age'),
    stopOld: effect('stop', () => {
      machine.running = null
    }),
    copyDatabase: effect('copy', () => {
      writeFileSync(`${copy()}.part`, schema())
      renameSync(`${copy()}.part`, copy())
    }),
    migrate: effect('migrate', () => writeFileSync(database(), 'schema 2')),
    startNew: effect('start new', () => {
      if (schema() !== 'schema 2') throw new Error('the new version needs schema 2')
      machine.running = '2.0.0'
      writeFileSync(database(), 'schema 2')
    }),
    stopNew: effect('stop new', () => {
      machine.running = null
    }),
    restoreDatabase: effect('restore', () => existsSync(copy()) && renameSync(copy(), database())),
    startOld: effect('start old', () => {
      if (schema() !== 'schema 1') throw new Error('the old version needs schema 1')
      machine.running = '1.0.0'
    }),
    keepNew: () => undefined,
    cleanUp: () => machine.do('clean up', () => rmSync(copy(), { force: true })),
    ...changes,
  }
}

function storeOn(machine: Machine): UpgradeStore {
  const store = upgradeStore(folder, '1.0.0')
  return {
    ...store,
    write: (record) => machine.do(`record ${record.state}`, () => store.write(record)),
    point: (version) => machine.do('point', () => store.point(version)),
  }
}

const upgrade = (machine: Machine, changes: Partial<UpgradeEffects> = {}, abort = new AbortController().signal) =>
  runUpgrade({
    ...{ from: '1.0.0', to: '2.0.0', report: () => undefined, abort },
    effects: effectsOn(machine, changes),
    store: storeOn(machine),
  })

/** The next start: the launcher reads the pointer, the version that it names ends the upgrade. */
async function nextStart(machine = new Machine()) {
  machine.running = null
  const result = await recoverUpgrade(storeOn(machine), effectsOn(machine))
  return { result, version: pointedVersion(folder) ?? '1.0.0' }
}

/** Checks that one version serves, on its own schema, and that nothing of the upgrade is left. */
function expectWhole(version: string): void {
  expect(pointedVersion(folder) ?? '1.0.0').toBe(version)
  expect(schema()).toBe(version === '1.0.0' ? 'schema 1' : 'schema 2')
  expect(existsSync(copy())).toBe(false)
  expect(isUnfinished(readRecord(folder))).toBe(false)
}

test('an upgrade switches when the new version is healthy', async () => {
  const machine = new Machine()
  expect(await upgrade(machine)).toEqual({ outcome: 'upgraded', from: '1.0.0', to: '2.0.0', backup: 'backup.age', error: null })
  expect(machine.running).toBe('2.0.0')
  expectWhole('2.0.0')
  expect(machine.operations.filter((name) => name.startsWith('before record')).map((name) => name.slice(14))).toEqual([
    'rehearse',
    'backup',
    'stop',
    'copy',
    'migrate',
    'start',
    'upgraded',
  ])
})

describe('killed at', async () => {
  const counted = new Machine()
  folder = mkdtempSync(join(tmpdir(), 'berth-upgrade-'))
  writeFileSync(database(), 'schema 1')
  await upgrade(counted)
  rmSync(folder, { recursive: true, force: true })
  const { operations } = counted

  test.each(operations.map((name, at) => [name, at] as const))(
    '%s: exactly one version serves after the next start',
    async (_, at) => {
      const machine = new Machine(at)
      await upgrade(machine).catch(() => undefined)
      expect(machine.isDead).toBe(true)
      const { version } = await nextStart()
      const isSwitched = at >= operations.indexOf('after point')
      expect(version).toBe(isSwitched ? '2.0.0' : '1.0.0')
      expectWhole(version)
      expect((await nextStart()).result).toBeNull()
    },
  )

  test('a kill at every operation of a rollback and of the start after it still leaves one version serving', async () => {
    const broken = (machine: Machine): Partial<UpgradeEffects> => ({
      startNew: async () =>
        machine.do('start new', () => {
          throw new Error('ended with exit code 1')
        }),
    })
    const count = new Machine()
    expect(await upgrade(count, broken(count))).toMatchObject({ outcome: 'went-back' })
    for (let at = count.operations.indexOf('before start new'); at < count.operations.length; at++)
      for (let again = 0; again <= 6; again++) {
        rmSync(folder, { recursive: true })
        folder = mkdtempSync(join(tmpdir(), 'berth-upgrade-'))
        writeFileSync(database(), 'schema 1')
        const machine = new Machine(at)
        await upgrade(machine, broken(machine)).catch(() => undefined)
        await nextStart(new Machine(again)).catch(() => undefined)
        await nextStart()
        expectWhole('1.0.0')
      }
  })
})

test.each<[string, keyof UpgradeEffects, 'failed' | 'went-back']>([
  ['a rehearsal', 'rehearse', 'failed'],
  ['a backup', 'backUp', 'failed'],
  ['a stop', 'stopOld', 'failed'],
  ['a copy on a full disk', 'copyDatabase', 'failed'],
  ['a migration on a full disk', 'migrate', 'went-back'],
  ['a start', 'startNew', 'went-back'],
])('a failing %s leaves the previous version serving', async (_, effect, outcome) => {
  const machine = new Machine()
  const fail = async () => {
    // A migration that fails may have changed the database.
    if (effect === 'migrate' || effect === 'startNew') writeFileSync(database(), 'schema 1½')
    throw new Error('ENOSPC: no space left on device')
  }
  const result = await upgrade(machine, { [effect]: fail })
  expect(result).toMatchObject({ outcome, error: expect.stringContaining('ENOSPC') })
  expect(machine.running).toBe('1.0.0')
  expectWhole('1.0.0')
  expect(readRecord(folder)).toMatchObject({ state: outcome, error: expect.stringContaining('ENOSPC') })
})

test('the previous version starts even if a full disk prevents writing the upgrade record', async () => {
  const machine = new Machine()
  const store = storeOn(machine)
  let isFull = false
  const fillsUp = async () => {
    isFull = true
    throw new Error('ENOSPC')
  }
  const write: UpgradeStore['write'] = (record) => {
    if (isFull) throw new Error('ENOSPC')
    store.write(record)
  }
  const options = { from: '1.0.0', to: '2.0.0', report: () => undefined, abort: new AbortController().signal }
  const result = await runUpgrade({
    ...options,
    effects: effectsOn(machine, { migrate: fillsUp }),
    store: { ...store, write },
  })
  expect(result.outcome).toBe('went-back')
  expect(machine.running).toBe('1.0.0')
  expect((await nextStart()).version).toBe('1.0.0')
  expectWhole('1.0.0')
})

test('no version starts while the database cannot be restored; the next start restores it', async () => {
  const machine = new Machine()
  const changes: Partial<UpgradeEffects> = {
    startNew: () => Promise.reject(new Error('broken')),
    restoreDatabase: () => Promise.reject(new Error('EIO')),
  }
  await expect(upgrade(machine, changes)).rejects.toThrow(RestoreFailed)
  expect(machine.running).toBeNull()
  const { result } = await nextStart()
  expect(result).toMatchObject({ outcome: 'went-back', error: 'broken' })
  expectWhole('1.0.0')
})

test('an upgrade that is cancelled before the instance stops changes nothing', async () => {
  const machine = new Machine()
  const abort = new AbortController()
  const cancel = async () => {
    abort.abort()
    return 'backup.age'
  }
  expect(await upgrade(machine, { backUp: cancel }, abort.signal)).toMatchObject({
    outcome: 'failed',
    error: 'The upgrade was cancelled.',
  })
  expect(machine.running).toBe('1.0.0')
  expectWhole('1.0.0')
})

test('a version pointer from before the upgrade does not mark the upgrade as complete', async () => {
  upgradeStore(folder, '0.9.0').point('2.0.0')
  const machine = new Machine()
  const killed = { migrate: async () => machine.do('migrate', () => writeFileSync(database(), 'schema 1½')) }
  await expect(
    upgrade(machine, {
      ...killed,
      startNew: async () => Promise.reject(new Killed()),
      stopNew: async () => Promise.reject(new Killed()),
    }),
  ).rejects.toThrow(Killed)
  expect((await nextStart()).result?.outcome).toBe('went-back')
  expectWhole('1.0.0')
})
