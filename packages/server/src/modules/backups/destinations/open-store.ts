import type { DestinationCheck } from '@berth/contract'
import type { ArchiveStore, ArchiveStoreConfig } from '../../../drivers/archive-store/archive-store.ts'
import { StoreFailure } from '../../../drivers/archive-store/store-failure.ts'
import type { DestinationRow } from '../../../platform/db/tables/backups.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import { fail } from '../../../platform/failure.ts'
import { Secret } from '../../../platform/secrets/secret.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { localLocation, type StoredConfig } from './destination-config.ts'
import { findDestinationOf, updateDestination } from './destination-store.ts'
import { destinationLock, openConfig, sealConfig } from './destinations.ts'

const checkTimeoutMs = 60_000

/** Opens the destination's store. The caller must close it. */
export async function openStore(row: DestinationRow, deps: BackupsDeps, abort: AbortSignal): Promise<ArchiveStore> {
  const stored = await pinHostKey(row, openConfig(row, deps), deps, abort)
  return deps.stores.open(driverConfig(row, stored, deps))
}

/**
 * Pins the first host key of an sftp host before anything is sent; another key is refused from then on. If the destination was
 * changed meanwhile, the change is kept and the new host is asked for its key.
 */
async function pinHostKey(
  row: DestinationRow,
  stored: StoredConfig,
  deps: BackupsDeps,
  abort: AbortSignal,
): Promise<StoredConfig> {
  if (row.kind !== 'sftp' || stored.config.hostKey !== undefined) return stored
  const { host, port } = stored.config as { host: string; port: number }
  const hostKey = await deps.stores.hostKeyOf({ host, port, allowsLocalAddress: row.mayBeHere === 1 }, abort)
  const pinnedConfig = { ...stored, config: { ...stored.config, hostKey } }
  const changed = await deps.database.transaction(async ({ db, lock }) => {
    await lock(destinationLock(row.id))
    const current = (await findDestinationOf(db, row.organizationId, row.id)) ?? fail('not_found')
    if (current.config !== row.config || current.secrets !== row.secrets) return current
    await updateDestination(db, row.id, sealConfig(row.id, pinnedConfig, deps))
    return undefined
  })
  return changed ? pinHostKey(changed, openConfig(changed, deps), deps, abort) : pinnedConfig
}

function driverConfig(
  { kind, mayBeHere }: DestinationRow,
  { config, secrets }: StoredConfig,
  { settings }: BackupsDeps,
): ArchiveStoreConfig {
  const secretFields = Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, new Secret(value)]))
  if (kind !== 'local')
    return { kind, ...config, ...secretFields, allowsLocalAddress: mayBeHere === 1 } as unknown as ArchiveStoreConfig
  const location = localLocation(config.path as string, settings.backupRoots)
  // The operator may have removed a folder from the list since.
  if (!location)
    throw new StoreFailure(
      'denied',
      `The folder ${config.path} is not inside a folder that the operator allows for backups. Add one to BERTH_BACKUP_ROOTS, or change the path of the destination.`,
    )
  return { kind, ...location }
}

/** Writes, reads back and removes a small object, and records the result with the destination. */
export async function checkDestination(row: DestinationRow, deps: BackupsDeps): Promise<DestinationCheck> {
  const startedAt = performance.now()
  const reason = await tryStore(row, deps).catch(errorMessage)
  const check = {
    ok: reason === null,
    checkedAt: new Date(nowOf(deps)).toISOString(),
    durationMs: Math.round(performance.now() - startedAt),
    reason,
  }
  await updateDestination(deps.database.db, row.id, { lastCheck: JSON.stringify(check) })
  return check
}

async function tryStore(row: DestinationRow, deps: BackupsDeps): Promise<null> {
  const abort = AbortSignal.timeout(checkTimeoutMs)
  const store = await openStore(row, deps, abort)
  try {
    await store.check(abort)
    return null
  } finally {
    await store.close()
  }
}
