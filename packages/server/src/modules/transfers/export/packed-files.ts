import { transferEndJson } from '../../../platform/db/json-columns/transfers.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'
import { openFiles } from '../bundle/bundle-files.ts'
import type { TransfersDeps } from '../deps.ts'

/** Reads a file that the export has listed; other files of its folder are not accessible. */
export async function readPacked(row: TransferSideRow, name: string, deps: TransfersDeps): Promise<AsyncIterable<Uint8Array>> {
  const files = transferEndJson.files(row)
  if (!files.some((file) => file.name === name)) fail('not_found')
  const store = await openFiles(row.id, deps)
  return closing(store.get(name, AbortSignal.timeout(10 * 60_000)), () => store.close())
}

async function* closing(bytes: AsyncIterable<Uint8Array>, close: () => Promise<void>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } finally {
    await close()
  }
}
