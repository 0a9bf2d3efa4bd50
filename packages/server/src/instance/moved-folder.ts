import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { moveOver } from '../drivers/runtime/process/move-over.ts'
import type { Db } from '../platform/db/schema.ts'
import { processFolder } from './choose-runtime.ts'
import type { Logger } from './logger.ts'

/**
 * One folder holds an instance, wherever it lies: it remembers where it lay when it was last started, and what the database
 * says of places in it follows. What an older version kept as root outside of it is brought in first.
 */
export async function followTheFolder(dataDir: string, db: Db, logger: Logger): Promise<void> {
  const note = join(dataDir, 'place.json')
  const before = existsSync(note) ? (JSON.parse(readFileSync(note, 'utf8')) as { path: string }).path : dataDir
  const outside = placeOutside(dataDir, logger)
  if (outside) {
    // The database first: killed between the two, the next start finds the files still outside and brings them in.
    await renamePlaces(db, outside, processFolder(dataDir))
    bringIn(outside, processFolder(dataDir), logger)
  }
  if (before !== dataDir) {
    await renamePlaces(db, before, dataDir)
    logger.info({ from: before, to: dataDir }, 'the data folder was moved: what is kept in it is found at its new place')
  }
  if (before === dataDir && existsSync(note)) return
  writeFileSync(`${note}.new`, JSON.stringify({ path: dataDir }), { mode: 0o600 })
  renameSync(`${note}.new`, note)
}

/** Where versions before this one kept what ran as root. */
const oldPlace = (dataDir: string) => join('/var/lib/berth', createHash('sha256').update(dataDir).digest('hex').slice(0, 16))

function placeOutside(dataDir: string, logger: Logger): string | null {
  const [from, to] = [oldPlace(dataDir), processFolder(dataDir)]
  if (process.getuid?.() !== 0 || !existsSync(from)) return null
  if (!existsSync(join(to, 'volumes'))) return from
  logger.warn({ from, to }, 'files of projects are in two places; the ones outside of the data folder are not used')
  return null
}

function bringIn(from: string, to: string, logger: Logger): void {
  logger.info({ from, to }, 'volumes and builds are brought into the data folder')
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  rmSync(to, { recursive: true, force: true })
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    moveOver(from, to)
  }
}

async function renamePlaces(db: Db, from: string, to: string): Promise<void> {
  const move = (text: string) => (text === from || text.startsWith(`${from}/`) ? `${to}${text.slice(from.length)}` : text)
  for (const { id, artifacts, source } of await db.selectFrom('deployments').select(['id', 'artifacts', 'source']).execute()) {
    const moved = { artifacts: artifacts === null ? null : moveIn(artifacts, move), source: moveIn(source, move) }
    if (moved.artifacts === artifacts && moved.source === source) continue
    await db.updateTable('deployments').set(moved).where('id', '=', id).execute()
  }
  const live = await db.selectFrom('liveEnvironments').selectAll().where('staticFolder', 'is not', null).execute()
  for (const { projectId, environment, staticFolder } of live)
    await db
      .updateTable('liveEnvironments')
      .set({ staticFolder: move(staticFolder as string) })
      .where('projectId', '=', projectId)
      .where('environment', '=', environment)
      .execute()
  for (const { id, localPath } of await db.selectFrom('projects').select(['id', 'localPath']).execute())
    if (localPath && move(localPath) !== localPath)
      await db
        .updateTable('projects')
        .set({ localPath: move(localPath) })
        .where('id', '=', id)
        .execute()
}

const moveIn = (json: string, move: (text: string) => string) =>
  JSON.stringify(JSON.parse(json), (_, value) => (typeof value === 'string' ? move(value) : value))
