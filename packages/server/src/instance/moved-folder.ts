import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { moveOver } from '../drivers/runtime/process/files/move-over.ts'
import { movePaths } from '../modules/deployments/index.ts'
import { moveLocalPaths } from '../modules/projects/index.ts'
import type { Db } from '../platform/db/schema.ts'
import { processFolder } from './drivers/choose-runtime.ts'
import type { Logger } from './logger.ts'

/**
 * Updates stored paths when the data folder was moved: the folder records its path at each start. Files that an older version, run
 * as root, kept outside it are moved in first.
 */
export async function followTheFolder(dataDir: string, db: Db, logger: Logger): Promise<void> {
  const note = join(dataDir, 'place.json')
  const before = existsSync(note) ? (JSON.parse(readFileSync(note, 'utf8')) as { path: string }).path : dataDir
  const outside = locationOutside(dataDir, logger)
  if (outside) {
    // The database first: if the process dies in between, the next start finds the files still outside and moves them.
    await renameLocations(db, outside, processFolder(dataDir))
    bringIn(outside, processFolder(dataDir), logger)
  }
  if (before !== dataDir) {
    await renameLocations(db, before, dataDir)
    logger.info({ from: before, to: dataDir }, 'instance: data folder moved, stored paths updated')
  }
  if (before === dataDir && existsSync(note)) return
  writeFileSync(`${note}.new`, JSON.stringify({ path: dataDir }), { mode: 0o600 })
  renameSync(`${note}.new`, note)
}

/** Where earlier versions stored files when run as root. */
const oldLocation = (dataDir: string) => join('/var/lib/berth', createHash('sha256').update(dataDir).digest('hex').slice(0, 16))

function locationOutside(dataDir: string, logger: Logger): string | null {
  const [from, to] = [oldLocation(dataDir), processFolder(dataDir)]
  if (process.getuid?.() !== 0 || !existsSync(from)) return null
  if (!existsSync(join(to, 'volumes'))) return from
  logger.warn({ from, to }, 'instance: project files exist in two folders, the ones outside the data folder are not used')
  return null
}

function bringIn(from: string, to: string, logger: Logger): void {
  logger.info({ from, to }, 'instance: moving volumes and builds into the data folder')
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  rmSync(to, { recursive: true, force: true })
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    moveOver(from, to)
  }
}

async function renameLocations(db: Db, from: string, to: string): Promise<void> {
  const move = (text: string) => (text === from || text.startsWith(`${from}/`) ? `${to}${text.slice(from.length)}` : text)
  await movePaths(db, move)
  await moveLocalPaths(db, move)
}
