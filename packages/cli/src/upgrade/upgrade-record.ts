import { readFileSync } from 'node:fs'
import { replaceFile } from './replace-file.ts'
import { recordFile } from './upgrade-files.ts'

/** The steps of an upgrade in their order. Each is recorded before it begins. */
export const steps = ['install', 'rehearse', 'backup', 'stop', 'copy', 'migrate', 'start', 'go-back'] as const
export type Step = (typeof steps)[number]

/** `went-back`: the previous version serves again, with its database. `failed`: nothing was changed. */
export type Outcome = 'upgraded' | 'went-back' | 'failed'

export interface UpgradeRecord {
  from: string
  to: string
  /** The step that has begun, or the outcome. */
  state: Step | Outcome
  at: string
  /** File of the instance backup. */
  backup: string | null
  error: string | null
}

export const isUnfinished = (record: UpgradeRecord | null): record is UpgradeRecord & { state: Step } =>
  record !== null && (steps as readonly string[]).includes(record.state)

/** Null if no upgrade was ever begun, or if the file is not a record. */
export function readRecord(dataDir: string): UpgradeRecord | null {
  try {
    const record = JSON.parse(readFileSync(recordFile(dataDir), 'utf8')) as UpgradeRecord
    return typeof record.state === 'string' ? record : null
  } catch {
    return null
  }
}

/** The record is on disk when this returns. */
export const writeRecord = (dataDir: string, record: UpgradeRecord): void =>
  replaceFile(recordFile(dataDir), `${JSON.stringify(record, null, 2)}\n`)
