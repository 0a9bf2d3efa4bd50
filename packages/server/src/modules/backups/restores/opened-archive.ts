import { createHash } from 'node:crypto'
import type { Archives } from '../../../drivers/archive/archive.ts'
import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { type Manifest, maxManifestBytes, readManifest } from '../content/manifest.ts'
import type { BackupsDeps } from '../deps.ts'
import { BackupFailed } from '../failures.ts'
import { howToRestoreKey, lostRecipient } from '../runs/lost-key.ts'
import { storeOf } from '../runs/perform-run.ts'

export interface OpenedArchive {
  run: RunRow
  store: ArchiveStore
  archives: Archives
  manifest: Manifest
}

/** Opens the archive of a run, and checks its manifest against the recorded hash. Closed when `work` has ended. */
export async function withArchive<Result>(
  run: RunRow,
  deps: BackupsDeps,
  abort: AbortSignal,
  work: (opened: OpenedArchive) => Promise<Result>,
): Promise<Result> {
  const store = await storeOf(run, deps, abort)
  try {
    const archives = await deps.archives()
    refuseLost(run, archives)
    return await work({ run, store, archives, manifest: await manifestOf(run, store, archives, abort) })
  } finally {
    await store.close()
  }
}

function refuseLost({ recipient }: RunRow, { recipients }: Archives): void {
  if (recipient === null || recipients.includes(recipient)) return
  const key = recipient === lostRecipient ? 'a key that is missing' : `the key ${recipient}, which this instance does not have`
  throw new BackupFailed('key_lost', `This run was encrypted to ${key}. ${howToRestoreKey}`)
}

async function manifestOf(run: RunRow, store: ArchiveStore, archives: Archives, abort: AbortSignal): Promise<Manifest> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of store.get(run.manifestName as string, abort)) {
    bytes += chunk.length
    if (bytes > maxManifestBytes) throw new BackupFailed('manifest_damaged', 'The manifest is too large. Restore another run.')
    chunks.push(chunk)
  }
  const sealed = Buffer.concat(chunks)
  if (createHash('sha256').update(sealed).digest('hex') !== run.manifestSha256)
    throw new BackupFailed(
      'manifest_damaged',
      'The manifest at the destination was changed after it was stored. Restore another run.',
    )
  return readManifest(Buffer.from(await archives.unseal(sealed, maxManifestBytes)).toString('utf8'), run)
}
