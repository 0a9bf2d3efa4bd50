import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { readIdentity, readOrCreateIdentity } from '../../drivers/archive/instance-key.ts'
import { openedFile, sealedFile } from '../../drivers/archive/sealed-file.ts'
import { operatorText } from '../../drivers/runtime/engine-unreachable.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import { signalsSocketName } from '../../platform/database.ts'
import { backupKeyFile } from '../backup-key.ts'
import type { Config } from '../config/config.ts'
import { openDataFolder } from '../data-folder.ts'
import { machineFileName } from '../machine-identity.ts'
import { InstanceBackupRefused } from './backup-refused.ts'
import { checkDatabase, databaseFileOf, databaseFiles, loadDatabase, snapshotDatabase } from './database-copy.ts'
import {
  contentOnEngine,
  type EngineContent,
  engineEntries,
  engineTop,
  openEngineOf,
  type RestoredVolumes,
  restoreToEngine,
} from './engine-archive.ts'

export { InstanceBackupRefused } from './backup-refused.ts'

const maxMs = 24 * 3_600_000

/**
 * Excluded from the archive: files that can be recreated, belong to a running process or its machine, or are backups. The key opens the archive,
 * so it is never in it.
 */
const excludedNames = [
  'in-use.lock',
  'in-use.json',
  signalsSocketName,
  machineFileName,
  ...databaseFiles,
  'backup.key',
  'backups',
  'work',
  'git',
  'edge',
  // A restored instance runs the version that is installed on its machine.
  'versions',
  'upgrade',
  'upgrade.json',
  'upgrade.lock',
  'upgrade.sock',
]

export interface InstanceBackup {
  file: string
  keyFile: string
  /** Number of Docker volumes in the archive. */
  volumes: number
}

/**
 * Backs up the whole instance to one encrypted file, also while it runs: a database snapshot, its Docker volumes and images, and
 * the data folder. With the key file it restores the instance on an empty machine. Without folders it has the database and the keys
 * only: no volumes, sources and logs of projects.
 */
export async function backupInstance(
  config: Config,
  file: string,
  { withEngine = true, withFolders = true } = {},
): Promise<InstanceBackup> {
  const target = resolve(file)
  if (existsSync(target)) throw new InstanceBackupRefused(`${target} already exists. Choose another file.`)
  const keyFile = backupKeyFile(config.dataDir)
  const { identity } = await readOrCreateIdentity(keyFile)
  const snapshot = await mkdtemp(join(tmpdir(), 'berth-snapshot-'))
  const partialFile = `${target}.part`
  try {
    const engineContent = await snapshotDatabase(config, join(snapshot, databaseFileOf(config)), contentOnEngine)
    const onEngine = withEngine ? engineContent : null
    const content = archiveContent(config, snapshot, onEngine, withFolders ? [] : await foldersIn(config.dataDir))
    await pipeline(Readable.from(sealedFile(content, identity)), createWriteStream(partialFile, { mode: 0o600, flush: true }))
    await rename(partialFile, target)
    return { file: target, keyFile, volumes: onEngine?.volumes.length ?? 0 }
  } finally {
    await Promise.all([rm(snapshot, { recursive: true, force: true }), rm(partialFile, { force: true })])
  }
}

/** The whole archive. The engine's part comes first, so that a restore of it need not read the rest. */
async function* archiveContent(
  config: Config,
  snapshot: string,
  onEngine: EngineContent | null,
  excludedFolders: string[],
): AsyncGenerator<Uint8Array> {
  if (onEngine) yield* engineEntries(onEngine, await engineFor(config), AbortSignal.timeout(maxMs))
  yield* tarOf(config, snapshot, excludedFolders)
}

const foldersIn = async (path: string): Promise<string[]> =>
  (await readdir(path, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name)

async function engineFor(config: Config) {
  try {
    return await openEngineOf(config)
  } catch (error) {
    const message = operatorText(error)
    throw new InstanceBackupRefused(
      `The Docker volumes of this instance cannot be backed up: ${message}. Add --without-docker to leave them out.`,
      {
        cause: error,
      },
    )
  }
}

async function* tarOf(config: Config, snapshot: string, excludedFolders: string[]): AsyncGenerator<Uint8Array> {
  const { dataDir, environment } = config
  const pipe = new PassThrough({ highWaterMark: 1024 * 1024 })
  const args = ['--create', '--sparse', '--numeric-owner', '--warning=no-file-changed']
  const excluded = [...excludedNames, ...excludedFolders].map((name) => `--exclude=./${name}`)
  const content = [`--directory=${dataDir}`, '.', `--directory=${snapshot}`, databaseFileOf(config)]
  const archiving = createRunCommand(environment)(
    { program: 'tar', args: [...args, ...excluded, ...content] },
    {
      timeoutMs: maxMs,
      maxOutputBytes: 16_384,
      // Exit code 1: a file changed while tar read it.
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
  await archiving
}

/**
 * Restores into an empty data folder and, on PostgreSQL, an empty database. The key file is copied too, so that the instance can
 * open its backups.
 */
export async function restoreInstance(
  config: Config,
  file: string,
  keyFile: string,
  { withEngine = true } = {},
): Promise<{ dataDir: string } & RestoredVolumes> {
  const { dataDir } = config
  const identity = await readIdentity(keyFile)
  if (!identity) throw new InstanceBackupRefused(`${keyFile} does not exist. The backup cannot be decrypted without its key.`)
  if (existsSync(dataDir) && (await readdir(dataDir)).length > 0)
    throw new InstanceBackupRefused(`${dataDir} is not empty. Set BERTH_DATA_DIR to a new folder.`)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const openArchive = () => openedFile(createReadStream(file), identity)
  try {
    await untar(config, openArchive())
    await checkDatabase(config)
    const noVolumes: RestoredVolumes = { volumes: 0, kept: [] }
    const abort = AbortSignal.timeout(maxMs)
    const restored = withEngine ? await restoreToEngine(openArchive(), () => engineFor(config), abort) : noVolumes
    await copyFile(keyFile, backupKeyFile(dataDir))
    // Opening the folder checks that it is complete.
    const folder = await openDataFolder(dataDir)
    folder.release()
    // Last, because this step cannot be undone.
    await loadDatabase(config)
    return { dataDir, ...restored }
  } catch (error) {
    // A partial instance must not be started.
    await rm(dataDir, { recursive: true, force: true })
    throw error
  }
}

/** Extracts the data folder. The engine's part is excluded by its full name, as a project's folder may have the same name. */
async function untar({ dataDir, environment }: Config, input: AsyncIterable<Uint8Array>): Promise<void> {
  const args = ['--extract', '--numeric-owner', '--preserve-permissions', '--anchored', `--exclude=${engineTop}`]
  await createRunCommand(environment)(
    { program: 'tar', args: [...args, `--directory=${dataDir}`] },
    { timeoutMs: maxMs, maxOutputBytes: 16_384, input },
  )
}
