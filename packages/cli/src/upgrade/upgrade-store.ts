import { rmSync } from 'node:fs'
import { pointerFile } from '../../bin/versions.js'
import type { UpgradeStore } from './run-upgrade.ts'
import { pointedVersion, writePointer } from './upgrade-files.ts'
import { readRecord, writeRecord } from './upgrade-record.ts'

/** The record and the pointer in the data folder. `installed`: version of the package that starts an instance without a pointer. */
export const upgradeStore = (dataDir: string, installed: string): UpgradeStore => ({
  read: () => readRecord(dataDir),
  write: (record) => writeRecord(dataDir, record),
  pointedVersion: () => pointedVersion(dataDir),
  point: (version) => writePointer(dataDir, { version, installed }),
  removePointer: () => rmSync(pointerFile(dataDir), { force: true }),
})
