import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { InstanceBackupRefused } from '../../drivers/archive/instance-backup-refused.ts'
import { readIdentity } from '../../drivers/archive/instance-key.ts'
import { openedFile } from '../../drivers/archive/sealed-file.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import { errorMessage } from '../../platform/error-message.ts'
import { backupKeyFile } from '../backup-key.ts'
import type { Config } from '../config/config.ts'
import { openDataFolder } from '../data-folder.ts'
import { checkDatabase, loadDatabase } from './database-copy.ts'
import { engineTop, type RestoredVolumes, restoreToEngine } from './engine-archive.ts'
import { type ArchiveContent, engineFor, openArchive } from './open-archive.ts'
import { maxCopyMs } from './postgres-copy.ts'

export { InstanceBackupRefused } from '../../drivers/archive/instance-backup-refused.ts'

export interface InstanceBackup {
  file: string
  keyFile: string
  /** Number of Docker volumes in the archive. */
  volumes: number
}

/**
 * Backs up the whole instance to one encrypted file, also while it runs. With the key file it restores the instance on an empty
 * machine.
 */
export async function backupInstance(
  config: Config,
  file: string,
  content: Omit<ArchiveContent, 'abort'> = {},
): Promise<InstanceBackup> {
  const target = resolve(file)
  if (existsSync(target)) throw new InstanceBackupRefused(`${target} already exists. Choose another file.`)
  const partialFile = `${target}.part`
  const archive = await openArchive(config, content)
  try {
    await pipeline(Readable.from(archive.read()), createWriteStream(partialFile, { mode: 0o600, flush: true }))
    await rename(partialFile, target)
    return { file: target, keyFile: backupKeyFile(config.dataDir), volumes: archive.volumes }
  } finally {
    await Promise.all([archive.close(), rm(partialFile, { force: true })])
  }
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
  const read = () => openedFile(createReadStream(file), identity)
  try {
    await untar(config, read())
    await checkDatabase(config)
    const noVolumes: RestoredVolumes = { volumes: 0, kept: [] }
    const abort = AbortSignal.timeout(maxCopyMs)
    const restored = withEngine ? await restoreToEngine(read(), () => engineFor(config, 'restore'), abort) : noVolumes
    await copyFile(keyFile, backupKeyFile(dataDir))
    // Opening the folder checks that it is complete.
    const folder = await openDataFolder(dataDir)
    folder.release()
    // Last, because this step cannot be undone.
    await loadDatabase(config)
    return { dataDir, ...restored }
  } catch (error) {
    throw await emptyFolder(dataDir).then(
      () => error,
      (reason: unknown) => withRemains(error, dataDir, reason),
    )
  }
}

/** Deletes the content of a folder, because a partial instance must not be started. The folder may be a mount point and stays. */
async function emptyFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true })
}

/** Adds to the message of a failed restore that its data folder could not be emptied. */
function withRemains(error: unknown, folder: string, reason: unknown): Error {
  const message = `${errorMessage(error)}\n${folder} could not be emptied (${errorMessage(reason)}). Empty it before you start Berth.`
  return new InstanceBackupRefused(message, { cause: error })
}

/** Extracts the data folder. The engine's part is excluded by its full name, as a project's folder may have the same name. */
async function untar({ dataDir, environment }: Config, input: AsyncIterable<Uint8Array>): Promise<void> {
  const args = ['--extract', '--numeric-owner', '--preserve-permissions', '--anchored', `--exclude=${engineTop}`]
  await createRunCommand(environment)(
    { program: 'tar', args: [...args, `--directory=${dataDir}`] },
    { timeoutMs: maxCopyMs, maxOutputBytes: 16_384, input },
  )
}
