import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'
import { isSetupOrganization } from '../../access/index.ts'
import { openFiles } from '../bundle/bundle-files.ts'
import type { TransfersDeps } from '../deps.ts'
import { howToCancel } from '../rows/other-transfer.ts'
import { openImports } from '../rows/side-store.ts'

const megabyte = 1_000_000
/** Minimum size that a file counts with: a disk block. */
const minBytesOfFile = 4096

/** Bytes of each open import, counted once from the disk and then as files arrive. */
const receivedBytes = new Map<string, number>()

/**
 * Refuses more files when the organisation's imports exceed its quota. A bundle's size is unknown before all of it has arrived,
 * so the bytes received so far count.
 */
export async function refuseOverQuota({ organizationId }: TransferSideRow, deps: TransfersDeps): Promise<void> {
  const maxMb = deps.settings.quotas.arrivingMb
  const { db } = deps.database
  if (maxMb === null || (await isSetupOrganization(db, organizationId))) return
  let bytes = 0
  for (const id of await openImports(db, organizationId)) bytes += receivedBytes.get(id) ?? (await count(id, deps))
  if (bytes < maxMb * megabyte) return
  const message = `running imports can use ${maxMb} MB of disk together`
  fail('quota_exceeded', {
    field: 'arrivingMb',
    message: `Quota arrivingMb: ${message}. Wait for another transfer, cancel one (${howToCancel}), or ask the operator of this instance for more.`,
  })
}

/** Forgets the count; the next one is made from the disk. */
export const forgetCount = (id: string): boolean => receivedBytes.delete(id)

export function countFile(id: string, sizeBytes: number): void {
  const before = receivedBytes.get(id)
  if (before !== undefined) receivedBytes.set(id, before + Math.max(sizeBytes, minBytesOfFile))
}

async function count(id: string, deps: TransfersDeps): Promise<number> {
  const store = await openFiles(id, deps)
  try {
    let bytes = 0
    for await (const { sizeBytes } of store.list('', AbortSignal.timeout(60_000))) bytes += Math.max(sizeBytes, minBytesOfFile)
    receivedBytes.set(id, bytes)
    return bytes
  } finally {
    await store.close()
  }
}
