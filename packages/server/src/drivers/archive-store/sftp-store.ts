import { randomBytes } from 'node:crypto'
import { SftpFailed, type SftpFiles } from '../shell/ssh/sftp-files.ts'
import { untilAborted } from '../shell/until-aborted.ts'
import type { AddressGuard } from './address-guard.ts'
import type { ArchiveStore, SftpConfig, StoredObject } from './archive-store.ts'
import { checkByRoundTrip } from './check-by-round-trip.ts'
import { CallCount, listingBounds, listingTooLong } from './listing-bounds.ts'
import { isArchiveNamePart, parseArchiveName, parseArchivePrefix } from './object-name.ts'
import { SftpLink } from './sftp-link.ts'
import { isMissing, missing, StoreFailure } from './store-failure.ts'

const unfinished = '.unfinished'

/** Archives on a server that is reached over SFTP. Content is written under a temporary name first, in the same folder tree. */
export function sftpStore(config: SftpConfig, guard: AddressGuard, bounds = listingBounds): ArchiveStore {
  const link = new SftpLink(config, guard)
  const base = config.path.replace(/\/+$/, '') || (config.path.startsWith('/') ? '' : '.')
  const at = (...parts: string[]) => [base, ...parts].join('/')
  const withFiles = async <Result>(abort: AbortSignal, work: (files: SftpFiles) => Promise<Result>): Promise<Result> => {
    const files = await link.files(abort)
    try {
      return await work(files)
    } catch (error) {
      abort.throwIfAborted()
      throw await sftpFailure(error, files, base)
    }
  }

  const store: Omit<ArchiveStore, 'check'> = {
    async put(name, content, abort) {
      const parts = parseArchiveName(name)
      return withFiles(abort, async (files) => {
        await makeFolders(files, at(unfinished))
        const draft = at(unfinished, randomBytes(12).toString('hex'))
        try {
          const sizeBytes = await files.write(draft, untilAborted(content, abort))
          await renameIntoPlace(files, draft, at(...parts), at(...parts.slice(0, -1)))
          return { sizeBytes }
        } catch (error) {
          await files.remove(draft).catch(() => undefined)
          throw error
        }
      })
    },
    async *get(name, abort, { from = 0 } = {}) {
      const path = at(...parseArchiveName(name))
      const files = await link.files(abort)
      try {
        yield* untilAborted(files.read(path, from), abort)
      } catch (error) {
        abort.throwIfAborted()
        const failure = await sftpFailure(error, files, base)
        throw isMissing(failure) ? missing(name) : failure
      }
    },
    async size(name, abort) {
      const path = at(...parseArchiveName(name))
      const found = await withFiles(abort, (files) => files.stat(path))
      return found?.kind === 'file' ? found.sizeBytes : undefined
    },
    async *list(prefix, abort) {
      const parts = parseArchivePrefix(prefix)
      const files = await link.files(abort)
      try {
        yield* listIn(files, { path: at(...parts), above: prefix, depth: 0 }, new CallCount(bounds), abort)
      } catch (error) {
        abort.throwIfAborted()
        throw await sftpFailure(error, files, base)
      }
    },
    async remove(name, abort) {
      const parts = parseArchiveName(name)
      await withFiles(abort, async (files) => {
        await files.remove(at(...parts)).catch(ignoreMissing)
        for (let length = parts.length - 1; length > 0; length -= 1) {
          const isRemoved = await files.removeFolder(at(...parts.slice(0, length))).then(
            () => true,
            () => false,
          )
          if (!isRemoved) return
        }
      })
    },
    removeUnfinished: (olderThan, abort) =>
      withFiles(abort, async (files) => {
        let removed = 0
        const calls = new CallCount(bounds)
        for await (const page of files.pages(at(unfinished))) {
          calls.next()
          abort.throwIfAborted()
          for (const { name, kind, modifiedAt } of page) {
            if (kind !== 'file' || !isArchiveNamePart(name) || modifiedAt >= olderThan) continue
            await files.remove(at(unfinished, name)).catch(ignoreMissing)
            removed += 1
          }
        }
        return removed
      }),
    close: () => link.close(),
  }
  return { ...store, check: (abort) => checkByRoundTrip(store, abort) }
}

async function renameIntoPlace(files: SftpFiles, draft: string, path: string, folder: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await makeFolders(files, folder)
    try {
      return await files.rename(draft, path)
    } catch (error) {
      // The folder was empty, and another process that removed its last archive has just removed the folder.
      if (!(error instanceof SftpFailed) || error.errorKind !== 'missing' || tries === 5) throw error
    }
  }
}

/** Creates folders from the top down; an existing one is not an error. */
async function makeFolders(files: SftpFiles, path: string): Promise<void> {
  if (path === '' || path === '.' || (await files.stat(path))?.kind === 'folder') return
  const above = path.slice(0, Math.max(0, path.lastIndexOf('/')))
  if (above !== '') await makeFolders(files, above)
  try {
    await files.makeFolder(path)
  } catch (error) {
    // A symlink to a folder is accepted: the server's owner made it.
    if ((await files.stat(path)) === undefined) throw error
  }
}

interface Folder {
  path: string
  /** Prefix of the names in this folder. */
  above: string
  depth: number
}

/** A server may return any name: names that cannot be Berth's are skipped, and only one response is kept in memory. */
async function* listIn(files: SftpFiles, folder: Folder, calls: CallCount, abort: AbortSignal): AsyncGenerator<StoredObject> {
  const { path, above, depth } = folder
  if (depth > listingBounds.depth) throw listingTooLong(`${listingBounds.depth} nested folders`)
  for await (const page of files.pages(path)) {
    calls.next()
    for (const { name, kind, sizeBytes, modifiedAt } of page) {
      abort.throwIfAborted()
      if (!isArchiveNamePart(name)) continue
      if (kind === 'file') yield { name: `${above}${name}`, sizeBytes, modifiedAt: modifiedAt.toISOString() }
      else if (kind === 'folder')
        yield* listIn(files, { path: `${path}/${name}`, above: `${above}${name}/`, depth: depth + 1 }, calls, abort)
    }
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof SftpFailed) || error.errorKind !== 'missing') throw error
}

/** SFTP has one error code for a full disk and many other errors, so the free space is queried. */
async function sftpFailure(error: unknown, files: SftpFiles, base: string): Promise<unknown> {
  if (!(error instanceof SftpFailed)) return error
  const report = (reason: StoreFailure['reason'], message: string) => new StoreFailure(reason, message, { cause: error })
  if (error.errorKind === 'missing') return report('missing', error.message)
  if (error.errorKind === 'denied')
    return report('denied', `${error.message}: allow the user of the login to read and write ${base} on the server`)
  if (error.errorKind === 'silent') return report('timeout', error.message)
  if (error.errorKind === 'lost') return report('unreachable', error.message)
  const free = await files.freeBytes(base === '' ? '/' : base)
  if (free !== undefined && free < 1024 * 1024) return report('full', `The disk of the server is full: ${base}`)
  return report('other', `The server refused the request: ${error.message}`)
}
