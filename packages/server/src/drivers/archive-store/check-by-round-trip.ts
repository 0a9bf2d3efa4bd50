import { randomBytes } from 'node:crypto'
import type { ArchiveStore } from './archive-store.ts'
import { inMemoryContent } from './in-memory.ts'
import { StoreFailure } from './store-failure.ts'

/** Writes a small object, reads it back and removes it: a place that only says that it stores is found out here. */
export async function checkByRoundTrip(store: Omit<ArchiveStore, 'check'>, abort: AbortSignal): Promise<void> {
  const name = `berth-check-${randomBytes(8).toString('hex')}`
  const content = randomBytes(1024)
  await store.put(name, inMemoryContent(content), abort)
  try {
    if (!(await readAll(store, name, abort)).equals(content))
      throw new StoreFailure('corrupt', 'What was read back is not what was written: this place does not keep what it is given')
  } catch (error) {
    await store.remove(name, abort).catch(() => undefined)
    throw error
  }
  await store.remove(name, abort)
}

async function readAll(store: Omit<ArchiveStore, 'check'>, name: string, abort: AbortSignal): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of store.get(name, abort)) {
    bytes += chunk.length
    if (bytes > 64 * 1024) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
