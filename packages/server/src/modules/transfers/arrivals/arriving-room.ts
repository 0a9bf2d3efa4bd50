import type { TransferEndRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'
import { isSetupOrganization } from '../../access/index.ts'
import type { TransfersDeps } from '../deps.ts'
import { openFiles } from '../end-files.ts'
import { howToCallOff } from '../other-move.ts'
import { openArrivals } from '../store.ts'

const megabyte = 1_000_000
/** However small, a file takes a place on the disk. */
const leastBytes = 4096

/** Bytes of each arrival that is open. Counted once from the disk, then as they come. */
const taken = new Map<string, number>()

/** Nobody knows how large a bundle is before all of it has come: what its organisation has sent so far is held to its quota. */
export async function refuseTooMuch({ organizationId }: TransferEndRow, deps: TransfersDeps): Promise<void> {
  const { arrivingMb } = deps.settings.quotas
  const { db } = deps.database
  if (arrivingMb === null || (await isSetupOrganization(db, organizationId))) return
  let bytes = 0
  for (const id of await openArrivals(db, organizationId)) bytes += taken.get(id) ?? (await count(id, deps))
  if (bytes < arrivingMb * megabyte) return
  const words = `projects that are moved here may take ${arrivingMb} MB of disk together until they have arrived`
  fail('quota_exceeded', {
    field: 'arrivingMb',
    words: `Quota arrivingMb: ${words}: wait for another move or call one off (${howToCallOff}), or ask whoever runs this service for more`,
  })
}

/** The next count is made anew, from the disk. */
export const forgetCount = (id: string): boolean => taken.delete(id)

export function countFile(id: string, sizeBytes: number): void {
  const before = taken.get(id)
  if (before !== undefined) taken.set(id, before + Math.max(sizeBytes, leastBytes))
}

async function count(id: string, deps: TransfersDeps): Promise<number> {
  const store = await openFiles(id, deps)
  try {
    let bytes = 0
    for await (const { sizeBytes } of store.list('', AbortSignal.timeout(60_000))) bytes += Math.max(sizeBytes, leastBytes)
    taken.set(id, bytes)
    return bytes
  } finally {
    await store.close()
  }
}
