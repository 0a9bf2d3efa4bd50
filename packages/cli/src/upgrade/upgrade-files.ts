import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pointerFile, readPointer, versionsFolder } from '../../bin/versions.js'
import { replaceFile } from './replace-file.ts'

/** The files of upgrades, below the data folder. */
export const recordFile = (dataDir: string) => join(dataDir, 'upgrade.json')
export const lockFile = (dataDir: string) => join(dataDir, 'upgrade.lock')
export const socketFile = (dataDir: string) => join(dataDir, 'upgrade.sock')
export const workFolder = (dataDir: string) => join(dataDir, 'upgrade')
export const rehearsalFolder = (dataDir: string) => join(workFolder(dataDir), 'rehearsal')
/** The copy of the database from right before the migration. */
export const copyFile = (dataDir: string) => join(workFolder(dataDir), 'database-before')
export const backupsFolder = (dataDir: string) => join(dataDir, 'backups', 'upgrades')

/** Makes a version the one that serves. */
export function writePointer(dataDir: string, pointer: { version: string; installed: string }): void {
  mkdirSync(versionsFolder(dataDir), { recursive: true, mode: 0o700 })
  replaceFile(pointerFile(dataDir), `${JSON.stringify(pointer)}\n`)
}

export const pointedVersion = (dataDir: string): string | null => readPointer(dataDir)?.version ?? null
