import { open } from 'node:fs/promises'
import { relative } from 'node:path'
import { commandOutput } from '../../drivers/shell/command-output.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import { rewriteEntries } from '../../drivers/tar/rewrite-tar.ts'
import { asBytes, block, type TarHeader } from '../../drivers/tar/tar-header.ts'
import type { Config } from '../config/config.ts'
import { databaseFileOf } from './database-copy.ts'
import { maxCopyMs } from './postgres-copy.ts'

interface FolderParts {
  /** The folder with the snapshot of the database. */
  snapshot: string
  excludedFolders: readonly string[]
  excludedNames: readonly string[]
  abort: AbortSignal
}

/**
 * The data folder and the snapshot of the database as tar entries, without the end-of-archive mark.
 *
 * GNU tar stores a file without allocated blocks as one hole and does not read it. ext4 reports no blocks for a moment while it
 * writes a new file to the disk, so a file with data can be stored as zeros. Files that were stored as one hole are therefore
 * flushed, and those that have data are added again: a later entry replaces an earlier one of the same name.
 */
export async function* folderEntries(config: Config, parts: FolderParts): AsyncGenerator<Uint8Array> {
  const { snapshot, abort } = parts
  const holes: string[] = []
  const collectHoles = (header: TarHeader) => {
    if (isOneHole(header)) holes.push(header.name)
    return header
  }
  await flush(`${snapshot}/${databaseFileOf(config)}`)
  yield* rewriteEntries(tar(config, folderArgs(config, parts), abort), collectHoles)
  const files: string[] = []
  for (const name of holes) if (await hasData(config.dataDir, name)) files.push(name)
  if (files.length === 0) return
  const args = ['--no-recursion', `--directory=${config.dataDir}`, '--null', '--verbatim-files-from', '--files-from=-']
  yield* rewriteEntries(tar(config, args, abort, Buffer.concat(files.map((name) => asBytes(`${name}\0`)))), (header) => header)
}

/** A sparse entry begins with a block that lists its pieces of data; an entry of one hole has nothing else. */
const isOneHole = ({ size, sparse }: TarHeader): boolean => sparse !== undefined && sparse.realSize > 0 && size <= block

function folderArgs(config: Config, { snapshot, excludedFolders, excludedNames }: FolderParts): string[] {
  const { dataDir, backupRoots } = config
  const destinations = backupRoots.map((root) => relative(dataDir, root)).filter((path) => path !== '' && !path.startsWith('..'))
  const excluded = [...excludedNames, ...destinations, ...excludedFolders].map((name) => `--exclude=./${name}`)
  return [...excluded, `--directory=${dataDir}`, '.', `--directory=${snapshot}`, databaseFileOf(config)]
}

const tar = ({ environment }: Config, args: readonly string[], abort: AbortSignal, input?: Uint8Array) =>
  commandOutput(
    createRunCommand(environment),
    {
      program: 'tar',
      args: ['--create', '--format=posix', '--sparse', '--numeric-owner', '--warning=no-file-changed', ...args],
    },
    {
      abort,
      timeoutMs: maxCopyMs,
      highWaterMark: 1024 * 1024,
      maxOutputBytes: 16_384,
      // Exit code 1: a file changed while tar read it.
      acceptExitCodes: [0, 1],
      ...(input ? { input } : {}),
    },
  )

/** Whether a file of the folder has data, once the file system has allocated its blocks. */
async function hasData(folder: string, name: string): Promise<boolean> {
  const path = Buffer.concat([Buffer.from(`${folder}/`), asBytes(name)])
  return (await flush(path)) > 0
}

/** Writes a file's data to the disk and returns the number of its blocks; 0 if it was removed meanwhile. */
async function flush(path: string | Buffer): Promise<number> {
  try {
    await using file = await open(path, 'r')
    await file.sync()
    return (await file.stat()).blocks
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
