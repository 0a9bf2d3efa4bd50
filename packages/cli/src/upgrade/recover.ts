import { existsSync } from 'node:fs'
import { takeFileLock } from '@berth/server/file-lock'
import { CliError } from '../exit-codes.ts'
import { describeResult } from './describe-result.ts'
import { ownProgram } from './own-program.ts'
import { runStep } from './run-step.ts'
import { RestoreFailed, recoverUpgrade } from './run-upgrade.ts'
import { cleanUp } from './upgrade-effects.ts'
import { copyFile, lockFile, workFolder } from './upgrade-files.ts'
import { isUnfinished, readRecord } from './upgrade-record.ts'
import { upgradeStore } from './upgrade-store.ts'

/** Ends an upgrade that was killed, before an instance starts on the data folder. */
export async function recoverKilledUpgrade(dataDir: string, log: (message: string) => void): Promise<void> {
  const record = readRecord(dataDir)
  if (!record || (!isUnfinished(record) && !existsSync(workFolder(dataDir)))) return
  const lock = takeFileLock(lockFile(dataDir))
  if (!lock) {
    if (!isUnfinished(record)) return
    throw new CliError(`An upgrade to ${record.to} is running on ${dataDir}. Wait until it has ended.`, 6)
  }
  try {
    await endKilledUpgrade(dataDir, log)
  } finally {
    lock.release()
  }
}

/** Ends a killed upgrade, for a caller that holds the upgrade lock. */
export async function endKilledUpgrade(dataDir: string, log: (message: string) => void): Promise<void> {
  const record = readRecord(dataDir)
  const { program, installed } = ownProgram()
  try {
    const result = await recoverUpgrade(upgradeStore(dataDir, installed), {
      restoreDatabase: async () => void (await runStep(program, ['restore', copyFile(dataDir)])),
      cleanUp: () => cleanUp(dataDir, record ? [record.from, record.to] : []),
    })
    if (result) log(describeResult(result))
  } catch (error) {
    throw error instanceof RestoreFailed ? new CliError(error.message) : error
  }
}
