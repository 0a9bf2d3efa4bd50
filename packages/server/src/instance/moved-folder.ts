import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { moveAcrossFileSystems } from '../drivers/runtime/process/files/move-across-file-systems.ts'
import { movePaths } from '../modules/deployments/index.ts'
import { moveLocalPaths } from '../modules/projects/index.ts'
import type { Db } from '../platform/db/schema.ts'
import { processFolder } from './drivers/choose-runtime.ts'
import type { Logger } from './logger.ts'

/**
 * Updates stored paths when the data folder was moved: the folder records its path at each start. Files that an older version, run
 * as root, kept outside it are moved in first.
 */
export async function updateMovedPaths(dataDir: string, db: Db, logger: Logger): Promise<void> {
  const pathFile = join(dataDir, 'place.json')
  const recordedPath = existsSync(pathFile) ? (JSON.parse(readFileSync(pathFile, 'utf8')) as { path: string }).path : dataDir
  const oldFolder = findOldFolder(dataDir, logger)
  if (oldFolder) {
    // The database is updated first: if the process then dies, the next start still finds the old folder and moves it.
    await updateStoredPaths(db, oldFolder, processFolder(dataDir))
    moveIntoDataFolder(oldFolder, processFolder(dataDir), logger)
  }
  if (recordedPath !== dataDir) {
    await updateStoredPaths(db, recordedPath, dataDir)
    logger.info({ from: recordedPath, to: dataDir }, 'instance: data folder moved, stored paths updated')
  }
  if (recordedPath === dataDir && existsSync(pathFile)) return
  writeFileSync(`${pathFile}.new`, JSON.stringify({ path: dataDir }), { mode: 0o600 })
  renameSync(`${pathFile}.new`, pathFile)
}

/** The folder in which earlier versions stored files when run as root. */
const oldFolderPath = (dataDir: string) => join('/var/lib/berth', createHash('sha256').update(dataDir).digest('hex').slice(0, 16))

function findOldFolder(dataDir: string, logger: Logger): string | null {
  const [from, to] = [oldFolderPath(dataDir), processFolder(dataDir)]
  if (process.getuid?.() !== 0 || !existsSync(from)) return null
  if (!existsSync(join(to, 'volumes'))) return from
  logger.warn({ from, to }, 'instance: project files exist in two folders, the ones outside the data folder are not used')
  return null
}

function moveIntoDataFolder(from: string, to: string, logger: Logger): void {
  logger.info({ from, to }, 'instance: moving volumes and builds into the data folder')
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  rmSync(to, { recursive: true, force: true })
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    moveAcrossFileSystems(from, to)
  }
}

async function updateStoredPaths(db: Db, from: string, to: string): Promise<void> {
  const move = (text: string) => (text === from || text.startsWith(`${from}/`) ? `${to}${text.slice(from.length)}` : text)
  await movePaths(db, move)
  await moveLocalPaths(db, move)
}
