import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rename, unlink } from 'node:fs/promises'
import type { DirectoryHandle } from '../folder/directory-handle.ts'
import { untilAborted } from '../shell/until-aborted.ts'
import type { ArchiveStore, LocalConfig, StoredObject } from './archive-store.ts'
import { checkByRoundTrip } from './check-by-round-trip.ts'
import { localFailure } from './local-failures.ts'
import { enterDestination, enterParts, findParts, removeEmpty, syncFolder } from './local-folders.ts'
import { parseArchiveName, parseArchivePrefix } from './object-name.ts'
import { missing } from './store-failure.ts'

/** Folder of unfinished puts; Berth's own names never begin with a dot. */
const unfinished = '.unfinished'
const chunkBytes = 256 * 1024
const createOnlyFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/**
 * Archives in a folder of this machine. Each call opens the path from the root again, so that no handle stays open between
 * calls.
 */
export function localStore(config: LocalConfig): ArchiveStore {
  const enter = () => enterDestination(config)
  const withFailures = async <Result>(doing: string, work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work()
    } catch (error) {
      throw localFailure(error, doing)
    }
  }

  const store: Omit<ArchiveStore, 'check'> = {
    put: (name, content, abort) =>
      withFailures(`writing ${config.path}/${name}`, () => put(enter, parseArchiveName(name), content, abort)),
    get: (name, abort, { from = 0 } = {}) => get(enter, name, from, abort),
    async size(name) {
      return withFailures(`reading ${config.path}/${name}`, async () => {
        const file = await openFile(enter, parseArchiveName(name))
        if (!file) return undefined
        await using _closed = file
        return (await file.stat()).size
      })
    },
    list: (prefix, abort) => list(enter, parseArchivePrefix(prefix), abort),
    async remove(name) {
      const parts = parseArchiveName(name)
      await withFailures(`removing ${config.path}/${name}`, () => remove(enter, parts))
      await removeEmpty(enter, parts.slice(0, -1))
    },
    removeUnfinished: (olderThan, abort) =>
      withFailures(`clearing up ${config.path}`, () => removeUnfinished(enter, olderThan, abort)),
    close: async () => undefined,
  }
  return { ...store, check: (abort) => checkByRoundTrip(store, abort) }
}

type Enter = () => Promise<DirectoryHandle>

async function put(enter: Enter, parts: string[], content: AsyncIterable<Uint8Array>, abort: AbortSignal) {
  await using drafts = await enterParts(await enter(), [unfinished])
  const draft = randomBytes(12).toString('hex')
  try {
    const sizeBytes = await writeAll(await open(drafts.at(draft), createOnlyFlags, 0o600), content, abort)
    abort.throwIfAborted()
    await renameIntoPlace(enter, parts, drafts.at(draft))
    return { sizeBytes }
  } catch (error) {
    await unlink(drafts.at(draft)).catch(() => undefined)
    throw error
  }
}

async function writeAll(file: FileHandle, content: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<number> {
  await using _closed = file
  let sizeBytes = 0
  for await (const chunk of untilAborted(content, abort)) {
    for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done, chunk.length - done)).bytesWritten
    sizeBytes += chunk.length
  }
  abort.throwIfAborted()
  await file.sync()
  return sizeBytes
}

async function renameIntoPlace(enter: Enter, parts: string[], draft: Buffer): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await using folder = await enterParts(await enter(), parts.slice(0, -1))
      await rename(draft, folder.at(parts.at(-1)!))
      return await syncFolder(folder)
    } catch (error) {
      // The folder was empty, and another process that removed its last archive has just removed the folder.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === 5) throw error
    }
  }
}

async function openFile(enter: Enter, parts: string[]): Promise<FileHandle | null> {
  const folder = await findParts(await enter(), parts.slice(0, -1))
  if (!folder) return null
  await using handle = folder
  // Awaited here: the directory handle must stay open until the file has been opened.
  return await handle.file(parts.at(-1)!)
}

async function* get(enter: Enter, name: string, from: number, abort: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    const file = await openFile(enter, parseArchiveName(name))
    if (!file) throw missing(name)
    await using _closed = file
    for (let position = from; ; ) {
      abort.throwIfAborted()
      const buffer = Buffer.allocUnsafeSlow(chunkBytes)
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, position)
      if (bytesRead === 0) return
      position += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } catch (error) {
    throw localFailure(error, `reading ${name}`)
  }
}

async function* list(enter: Enter, prefix: string[], abort: AbortSignal): AsyncGenerator<StoredObject> {
  const folder = await findParts(await enter(), prefix)
  if (!folder) return
  await using handle = folder
  yield* listIn(handle, prefix, abort)
}

async function* listIn(folder: DirectoryHandle, above: string[], abort: AbortSignal): AsyncGenerator<StoredObject> {
  for (const name of await folder.names()) {
    abort.throwIfAborted()
    const part = String(name)
    const stat = part.startsWith('.') ? null : await folder.stat(name).catch(() => null)
    if (stat?.isFile()) yield { name: [...above, part].join('/'), sizeBytes: stat.size, modifiedAt: stat.mtime.toISOString() }
    else if (stat?.isDirectory()) {
      await using inner = await folder.enter(name)
      if (inner) yield* listIn(inner, [...above, part], abort)
    }
  }
}

async function remove(enter: Enter, parts: string[]): Promise<void> {
  const folder = await findParts(await enter(), parts.slice(0, -1))
  if (!folder) return
  await using handle = folder
  await unlink(handle.at(parts.at(-1)!)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

async function removeUnfinished(enter: Enter, olderThan: Date, abort: AbortSignal): Promise<number> {
  const drafts = await findParts(await enter(), [unfinished])
  if (!drafts) return 0
  await using handle = drafts
  let removed = 0
  for (const name of await handle.names()) {
    abort.throwIfAborted()
    const stat = await handle.stat(name).catch(() => null)
    if (!stat?.isFile() || stat.mtime >= olderThan) continue
    await unlink(handle.at(name)).catch(() => undefined)
    removed += 1
  }
  return removed
}
