import { mkdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import { fail } from '../../../platform/failure.ts'
import type { TransfersDeps } from '../deps.ts'

const rootOf = ({ settings }: Pick<TransfersDeps, 'settings'>) => join(settings.dataDir, 'transfers')
const folderOf = (id: string, deps: Pick<TransfersDeps, 'settings'>) => join(rootOf(deps), id)

/** The files of a bundle during the transfer; removed when it has ended. */
export async function openFiles(id: string, deps: TransfersDeps): Promise<ArchiveStore> {
  const root = rootOf(deps)
  await mkdir(root, { recursive: true, mode: 0o700 })
  return deps.stores.open({ kind: 'local', path: folderOf(id, deps), root })
}

export const removeFiles = (id: string, deps: Pick<TransfersDeps, 'settings'>): Promise<void> =>
  rm(folderOf(id, deps), { recursive: true, force: true, maxRetries: 3 })

/** Disk space that is always kept free for the machine itself. */
const keptFreeBytes = 1024 ** 3

/** Refuses bytes that would fill the disk. */
export async function refuseFullDisk(bytes: number, deps: TransfersDeps): Promise<void> {
  const root = rootOf(deps)
  await mkdir(root, { recursive: true, mode: 0o700 })
  const { bavail, bsize, blocks } = await statfs(root)
  const kept = Math.min(keptFreeBytes, (blocks * bsize) / 20)
  if (bavail * bsize - bytes < kept)
    fail('unavailable', { message: 'Not enough disk space for this project. Free some space, then try again.' })
}

const checkEveryBytes = 64 * 1024 ** 2

/** Returns the content unchanged; fails before a write would fill the disk. */
export async function* untilDiskFull(content: AsyncIterable<Uint8Array>, deps: TransfersDeps): AsyncGenerator<Uint8Array> {
  await refuseFullDisk(0, deps)
  let since = 0
  for await (const chunk of content) {
    since += chunk.length
    if (since >= checkEveryBytes) {
      await refuseFullDisk(since, deps)
      since = 0
    }
    yield chunk
  }
}

export async function readWhole(store: ArchiveStore, name: string, maxBytes: number, abort: AbortSignal): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of store.get(name, abort)) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`${name} exceeds its size limit`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
