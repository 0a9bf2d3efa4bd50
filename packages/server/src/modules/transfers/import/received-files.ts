import { createHash } from 'node:crypto'
import { bundleFileBytes } from '@berth/contract'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { openFiles, refuseFullDisk } from '../bundle/bundle-files.ts'
import type { TransfersDeps } from '../deps.ts'
import { countFile, refuseOverQuota } from './import-quota.ts'

/** Stores the file completely and with that hash, or not at all; an existing file is not replaced. */
export async function storeFile(
  row: TransferSideRow,
  name: string,
  sha256: string,
  bytes: AsyncIterable<Uint8Array>,
  deps: TransfersDeps,
): Promise<void> {
  if (row.state !== 'open' && row.state !== 'staged')
    fail('conflict', { message: `The import is ${row.state} and accepts no files` })
  await refuseFullDisk(bundleFileBytes, deps)
  await refuseOverQuota(row, deps)
  const store = await openFiles(row.id, deps)
  try {
    const abort = AbortSignal.timeout(10 * 60_000)
    if ((await store.size(name, abort)) !== undefined) return
    // The store wraps write errors in its own; an error in the bytes is the sender's and is reported as such.
    const checked = new CheckedBytes(bytes, sha256)
    const { sizeBytes } = await store.put(name, checked.read(), abort).catch((error: unknown) => {
      throw checked.refusal ?? error
    })
    countFile(row.id, sizeBytes)
  } finally {
    await store.close()
  }
}

/** Bytes that are validated while they are read. */
class CheckedBytes {
  refusal: unknown
  readonly #bytes: AsyncIterable<Uint8Array>
  readonly #sha256: string

  constructor(bytes: AsyncIterable<Uint8Array>, sha256: string) {
    this.#bytes = bytes
    this.#sha256 = sha256
  }

  async *read(): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256')
    let size = 0
    for await (const chunk of this.#bytes) {
      size += chunk.length
      if (size > bundleFileBytes) this.#refuse(() => fail('payload_too_large'))
      hash.update(chunk)
      yield chunk
    }
    if (hash.digest('hex') !== this.#sha256)
      this.#refuse(() => refuse('sha256', 'does not match the received bytes. Send the file again.'))
  }

  #refuse(throwFailure: () => never): void {
    try {
      throwFailure()
    } catch (refusal) {
      this.refusal = refusal
      throw refusal
    }
  }
}

/** Names of the files that have arrived completely. */
export async function receivedFiles(row: TransferSideRow, deps: TransfersDeps): Promise<string[]> {
  if (row.state !== 'open' && row.state !== 'staged') return []
  const store = await openFiles(row.id, deps)
  try {
    const names: string[] = []
    for await (const { name } of store.list('', AbortSignal.timeout(60_000))) names.push(name)
    return names
  } finally {
    await store.close()
  }
}
