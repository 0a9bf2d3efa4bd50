import { errorText } from '../error-text.ts'
import { isUnfinished, type Outcome, type Step, type UpgradeRecord } from './upgrade-record.ts'

/** The effects of an upgrade. A step that fails throws; its message is shown to the operator. */
export interface UpgradeEffects {
  /** Migrates a copy of the database with the new version. Returns the reason if this was left out, otherwise null. */
  rehearse(abort: AbortSignal): Promise<string | null>
  /** Backs up the instance. Returns the path of the backup file. */
  backUp(abort: AbortSignal): Promise<string>
  /** Ends the control plane of the previous version. The edge and the projects keep serving. */
  stopOld(): Promise<void>
  /** Copies the database. The copy is complete if it exists. */
  copyDatabase(): Promise<void>
  migrate(): Promise<void>
  /** Resolves when the new version is healthy. */
  startNew(): Promise<void>
  stopNew(): Promise<void>
  /** Moves the copy to the path of the database. If no copy exists, it was moved before. */
  restoreDatabase(): Promise<void>
  startOld(): Promise<void>
  /** Supervises the new version from now on. */
  keepNew(): void
  /** Removes the copies of the database, and versions that are not needed any more. */
  cleanUp(): void
}

export interface UpgradeStore {
  read(): UpgradeRecord | null
  write(record: UpgradeRecord): void
  pointedVersion(): string | null
  /** Makes the version the serving one, in one step. */
  point(version: string): void
  removePointer(): void
}

export type Report = (step: Step, note?: string) => void

export interface UpgradeResult {
  /** `current`: the version runs already. */
  outcome: Outcome | 'current'
  from: string
  to: string
  backup: string | null
  error: string | null
}

/** The database could not be restored: no version may start on it. The next start tries again. */
export class RestoreFailed extends Error {
  override readonly name = 'RestoreFailed'
}

interface UpgradeRun {
  from: string
  to: string
  effects: UpgradeEffects
  store: UpgradeStore
  report: Report
  /** Ends the upgrade while the previous version still serves. */
  abort: AbortSignal
}

/**
 * Runs the steps after the installation. Until `stop` nothing is changed. From `migrate` on, a failure restores the database. The
 * version has changed when the pointer is written: a crash before it goes back, a crash after it does not.
 */
export async function runUpgrade({ from, to, effects, store, report, abort }: UpgradeRun): Promise<UpgradeResult> {
  let record: UpgradeRecord = { from, to, state: 'install', at: '', backup: null, error: null }
  const begin = (state: Step | Outcome, more: Partial<UpgradeRecord> = {}) => {
    record = { ...record, ...more, state, at: new Date().toISOString() }
    store.write(record)
  }
  const step = async <Result>(name: Step, work: () => Promise<Result>): Promise<Result> => {
    begin(name)
    report(name)
    return await work()
  }
  // A full disk must not prevent the start of the previous version: a record that cannot be written leads to the same end at the
  // next start.
  const tryToRecord = (state: Step | Outcome, error: string | null) => ignoreErrors(() => begin(state, { error }))
  const end = (outcome: Outcome, error: string | null): UpgradeResult => {
    tryToRecord(outcome, error)
    ignoreErrors(() => effects.cleanUp())
    return { outcome, from, to, backup: record.backup, error }
  }
  try {
    // A leftover version pointer must not look like the completion of this upgrade.
    if (store.pointedVersion() === to) store.removePointer()
    const leftOut = await step('rehearse', () => effects.rehearse(abort))
    if (leftOut) report('rehearse', leftOut)
    const backup = await step('backup', () => effects.backUp(abort))
    record = { ...record, backup }
    report('backup', backup)
    abort.throwIfAborted()
  } catch (error) {
    return end('failed', abort.aborted ? 'The upgrade was cancelled.' : errorText(error))
  }
  let isChanged = false
  try {
    await step('stop', () => effects.stopOld())
    await step('copy', () => effects.copyDatabase())
    isChanged = true
    await step('migrate', () => effects.migrate())
    await step('start', () => effects.startNew())
    pointTo(to, store)
  } catch (error) {
    const message = errorText(error)
    if (isChanged) {
      tryToRecord('go-back', message)
      report('go-back')
      report('go-back', message)
      await effects.stopNew()
      await restore(effects)
    }
    // Recorded first: the previous version writes to the database from its start on.
    const result = end(isChanged ? 'went-back' : 'failed', message)
    await effects.startOld()
    return result
  }
  effects.keepNew()
  return end('upgraded', null)
}

/** An error after the pointer was replaced does not undo it. */
function pointTo(version: string, store: UpgradeStore): void {
  try {
    store.point(version)
  } catch (error) {
    if (store.pointedVersion() !== version) throw error
  }
}

function ignoreErrors(work: () => void): void {
  try {
    work()
  } catch {
    // Repeated by the next start.
  }
}

async function restore(effects: Pick<UpgradeEffects, 'restoreDatabase'>): Promise<void> {
  try {
    await effects.restoreDatabase()
  } catch (cause) {
    throw new RestoreFailed(`The database could not be restored: ${errorText(cause)}`, { cause })
  }
}

/**
 * Ends an upgrade that was killed. Runs before any version starts. Returns the ended upgrade, or null if none was unfinished. After
 * `upgraded`, the caller must start the new version.
 */
export async function recoverUpgrade(
  store: UpgradeStore,
  effects: Pick<UpgradeEffects, 'restoreDatabase' | 'cleanUp'>,
): Promise<UpgradeResult | null> {
  const record = store.read()
  if (!isUnfinished(record)) {
    if (record) ignoreErrors(() => effects.cleanUp())
    return null
  }
  const end = (outcome: Outcome): UpgradeResult => {
    const { from, to, backup } = record
    const error = outcome === 'upgraded' ? null : (record.error ?? `The upgrade was interrupted at the step ${record.state}.`)
    store.write({ ...record, state: outcome, error, at: new Date().toISOString() })
    effects.cleanUp()
    return { outcome, from, to, backup, error }
  }
  if (store.pointedVersion() === record.to) return end('upgraded')
  if (record.state !== 'migrate' && record.state !== 'start' && record.state !== 'go-back') return end('failed')
  const error = record.error ?? `The upgrade was interrupted at the step ${record.state}.`
  store.write({ ...record, state: 'go-back', error, at: new Date().toISOString() })
  await restore(effects)
  return end('went-back')
}
