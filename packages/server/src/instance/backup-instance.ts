import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sql } from 'kysely'
import { readIdentity, readOrMakeIdentity } from '../drivers/archive/instance-key.ts'
import { openedFile, sealedFile } from '../drivers/archive/sealed-file.ts'
import { createRunCommand } from '../drivers/shell/run-command.ts'
import { openDatabase } from '../platform/database.ts'
import { backupKeyFile } from './backup-key.ts'
import type { Config } from './config.ts'
import { openDataFolder } from './data-folder.ts'

const longestMs = 24 * 3_600_000

/** What can be made again, belongs to a running process, or is itself a backup. The key is what opens the archive: never in it. */
const leftOut = [
  'in-use.lock',
  'in-use.json',
  'berth.db',
  'berth.db-wal',
  'berth.db-shm',
  'backup.key',
  'backups',
  'work',
  'git',
  'edge',
]

export class InstanceBackupRefused extends Error {
  override readonly name = 'InstanceBackupRefused'
}

/**
 * The whole data folder as one encrypted file, also while the instance runs: the database as of one moment, the rest as it
 * lies there. With the key file it brings a blank machine back.
 */
export async function backupInstance(config: Config, file: string): Promise<{ file: string; keyFile: string }> {
  if (config.databaseUrl)
    throw new InstanceBackupRefused(
      'The database is PostgreSQL, which is not in the data folder: save it with pg_dump, and the folder without it',
    )
  const target = resolve(file)
  if (existsSync(target)) throw new InstanceBackupRefused(`${target} is there already: name another file`)
  const keyFile = backupKeyFile(config.dataDir)
  const { identity } = await readOrMakeIdentity(keyFile)
  const snapshot = await mkdtemp(join(tmpdir(), 'berth-snapshot-'))
  const draft = `${target}.part`
  try {
    await snapshotDatabase(config, join(snapshot, 'berth.db'))
    await pipeline(
      Readable.from(sealedFile(tarOf(config, snapshot), identity)),
      createWriteStream(draft, { mode: 0o600, flush: true }),
    )
    await rename(draft, target)
    return { file: target, keyFile }
  } finally {
    await Promise.all([rm(snapshot, { recursive: true, force: true }), rm(draft, { force: true })])
  }
}

async function snapshotDatabase(config: Config, file: string): Promise<void> {
  const database = await openDatabase({ folder: config.dataDir })
  try {
    await sql`vacuum into ${file}`.execute(database.db)
  } finally {
    await database.close()
  }
}

async function* tarOf({ dataDir, environment }: Config, snapshot: string): AsyncGenerator<Uint8Array> {
  const pipe = new PassThrough({ highWaterMark: 1024 * 1024 })
  const args = ['--create', '--numeric-owner', '--warning=no-file-changed', ...leftOut.map((name) => `--exclude=./${name}`)]
  const made = createRunCommand(environment)(
    { program: 'tar', args: [...args, `--directory=${dataDir}`, '.', `--directory=${snapshot}`, 'berth.db'] },
    {
      timeoutMs: longestMs,
      maxOutputBytes: 16_384,
      // 1: a file changed while it was read.
      acceptExitCodes: [0, 1],
      onStdout: async (chunk) => {
        if (!pipe.write(Buffer.from(chunk)))
          await new Promise<void>((done) => pipe.once('drain', done).once('close', () => done()))
      },
    },
  ).then(
    () => void pipe.end(),
    (error: Error) => void pipe.destroy(error),
  )
  for await (const chunk of pipe) yield chunk as Uint8Array
  await made
}

/** Into an empty data folder; the key goes with it, so that the instance opens its backups. */
export async function restoreInstance(config: Config, file: string, keyFile: string): Promise<{ dataDir: string }> {
  const { dataDir, environment } = config
  const identity = await readIdentity(keyFile)
  if (!identity) throw new InstanceBackupRefused(`${keyFile} is not there: without the key nothing can be opened`)
  if (existsSync(dataDir) && (await readdir(dataDir)).length > 0)
    throw new InstanceBackupRefused(`${dataDir} is not empty: set BERTH_DATA_DIR to a new folder`)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  try {
    await createRunCommand(environment)(
      { program: 'tar', args: ['--extract', '--numeric-owner', '--preserve-permissions', `--directory=${dataDir}`] },
      { timeoutMs: longestMs, maxOutputBytes: 16_384, input: openedFile(createReadStream(file), identity) },
    )
    await copyFile(keyFile, backupKeyFile(dataDir))
    // Whole: the folder can be taken.
    const folder = await openDataFolder(dataDir)
    folder.release()
    return { dataDir }
  } catch (error) {
    // Half an instance must not be started.
    await rm(dataDir, { recursive: true, force: true })
    throw error
  }
}
