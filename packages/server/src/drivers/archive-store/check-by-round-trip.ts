import { randomBytes } from 'node:crypto'
import type { ArchiveStore } from './archive-store.ts'
import { inMemoryContent } from './in-memory.ts'
import { belowPrefix } from './listing-bounds.ts'
import { StoreFailure } from './store-failure.ts'

const folder = 'berth-check/'
/** Age above which a check's object was left by an interrupted check; a check takes far less. */
const leftoverAgeMs = 3_600_000

/** Limit of objects that interrupted checks may have left. */
const maxRemaining = 1_000

type StoreWithoutCheck = Omit<ArchiveStore, 'check'>

/** Writes a small object, reads it back and removes it: detects a destination that only reports success. */
export async function checkByRoundTrip(store: StoreWithoutCheck, abort: AbortSignal): Promise<void> {
  await removeLeftovers(store, abort)
  const name = `${folder}${randomBytes(8).toString('hex')}`
  const content = randomBytes(1024)
  try {
    await store.put(name, inMemoryContent(content), abort)
    if (!(await readAll(store, name, abort)).equals(content))
      throw new StoreFailure('corrupt', 'The data read back differs from the data written: this destination is not reliable')
  } catch (error) {
    // A put without a response may have been stored.
    await store.remove(name, abort).catch(() => undefined)
    throw error
  }
  await store.remove(name, abort)
}

async function removeLeftovers(store: StoreWithoutCheck, abort: AbortSignal): Promise<void> {
  let seen = 0
  for await (const { name, modifiedAt } of belowPrefix(store.list(folder, abort), folder)) {
    if (Date.now() - Date.parse(modifiedAt) > leftoverAgeMs) await store.remove(name, abort)
    seen += 1
    if (seen === maxRemaining) return
  }
}

async function readAll(store: StoreWithoutCheck, name: string, abort: AbortSignal): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of store.get(name, abort)) {
    bytes += chunk.length
    if (bytes > 64 * 1024) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
