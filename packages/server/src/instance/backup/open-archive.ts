import { createHash, type Hash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { InstanceBackupRefused } from '../../drivers/archive/instance-backup-refused.ts'
import { readOrCreateIdentity } from '../../drivers/archive/instance-key.ts'
import { openedFile, sealedFile } from '../../drivers/archive/sealed-file.ts'
import { StoreFailure } from '../../drivers/archive-store/store-failure.ts'
import { operatorText } from '../../drivers/runtime/engine-unreachable.ts'
import { tarEnd } from '../../drivers/tar/tar-header.ts'
import { ArchiveDiffers, type InstanceArchive, type OpenInstanceArchive } from '../../modules/backups/index.ts'
import { signalsSocketName } from '../../platform/database.ts'
import { errorMessage } from '../../platform/error-message.ts'
import { backupKeyFile } from '../backup-key.ts'
import type { Config } from '../config/config.ts'
import { machineFileName } from '../machine-identity.ts'
import { databaseFileOf, databaseFiles, snapshotDatabase } from './database-copy.ts'
import { contentOnEngine, type EngineContent, engineEntries, openEngineOf } from './engine-archive.ts'
import { folderEntries } from './folder-entries.ts'
import { maxCopyMs } from './postgres-copy.ts'

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

export interface ArchiveContent {
  /** Docker volumes and the images of running projects. */
  withEngine?: boolean
  /** Volumes, sources and logs of projects below the data folder; otherwise the archive has the database and the keys only. */
  withFolders?: boolean
  abort?: AbortSignal
}

/** The archives of this instance, for backups on a schedule. */
export const createInstanceArchive = (config: Config): InstanceArchive => ({
  open: (content, abort) => {
    const isWhole = content === 'everything'
    return openArchive(config, { withEngine: isWhole, withFolders: isWhole, abort })
  },
})

/** Takes a snapshot of the database, which is removed by `close`. The rest is read while the archive is written. */
export async function openArchive(
  config: Config,
  { withEngine = true, withFolders = true, abort = AbortSignal.timeout(maxCopyMs) }: ArchiveContent,
): Promise<OpenInstanceArchive & { volumes: number }> {
  const { identity } = await readOrCreateIdentity(backupKeyFile(config.dataDir))
  // The next start removes what a killed process leaves in the work folder.
  const work = join(config.dataDir, 'work')
  await mkdir(work, { recursive: true, mode: 0o700 })
  const snapshot = await mkdtemp(join(work, 'snapshot-'))
  const close = () => rm(snapshot, { recursive: true, force: true })
  try {
    const engineContent = await snapshotDatabase(config, join(snapshot, databaseFileOf(config)), contentOnEngine, { abort })
    const onEngine = withEngine ? engineContent : null
    const excludedFolders = withFolders ? [] : await foldersIn(config.dataDir)
    const sent = createHash('sha256')
    return {
      volumes: onEngine?.volumes.length ?? 0,
      read: () => sealedFile(hashed(archiveContent(config, snapshot, onEngine, excludedFolders, abort), sent), identity),
      compare: async (stored) => {
        const received = createHash('sha256')
        try {
          for await (const _ of hashed(openedFile(stored, identity), received)) abort.throwIfAborted()
        } catch (error) {
          // A failure of the destination has its own message.
          if (abort.aborted || error instanceof StoreFailure) throw error
          throw new ArchiveDiffers(`The stored backup cannot be decrypted: ${errorMessage(error)}`, { cause: error })
        }
        if (received.digest('hex') !== sent.copy().digest('hex'))
          throw new ArchiveDiffers('The destination returned a backup that differs from the stored one')
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function* hashed(content: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
}

/** The whole archive. The engine's part comes first, so that a restore of it need not read the rest. */
async function* archiveContent(
  config: Config,
  snapshot: string,
  onEngine: EngineContent | null,
  excludedFolders: string[],
  abort: AbortSignal,
): AsyncGenerator<Uint8Array> {
  if (onEngine) yield* engineEntries(onEngine, await engineFor(config, 'backup'), abort)
  yield* folderEntries(config, { snapshot, excludedFolders, excludedNames, abort })
  yield tarEnd
}

const foldersIn = async (path: string): Promise<string[]> =>
  (await readdir(path, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name)

const backupAdvice = 'Leave them out with --without-docker, or back up the database only.'
const restoreAdvice = 'Start the engine, or leave them out with --without-docker.'

/** Opens this machine's engine for a backup or a restore; the error of an unreachable one says how to do without it. */
export async function engineFor(config: Config, purpose: 'backup' | 'restore') {
  try {
    return await openEngineOf(config)
  } catch (error) {
    const [action, advice] = purpose === 'backup' ? ['backed up', backupAdvice] : ['restored', restoreAdvice]
    throw new InstanceBackupRefused(`The Docker volumes of the instance cannot be ${action}: ${operatorText(error)}. ${advice}`, {
      cause: error,
    })
  }
}
