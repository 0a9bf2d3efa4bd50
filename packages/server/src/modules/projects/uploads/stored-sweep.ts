import type { UploadStore } from '../../../drivers/upload-store/upload-store.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { sessionOfStored } from './stored-upload.ts'

/** Removes objects from the store that no session waits for: expired, already fetched, or uploaded after that. */
export async function sweepStored(store: UploadStore, deps: ProjectsDeps, abort: AbortSignal): Promise<void> {
  let names: string[] = []
  for await (const { name } of store.list('', abort)) {
    names.push(name)
    if (names.length < 500) continue
    await removeUnawaited(names, store, deps, abort)
    names = []
  }
  await removeUnawaited(names, store, deps, abort)
}

async function removeUnawaited(
  names: readonly string[],
  store: UploadStore,
  deps: ProjectsDeps,
  abort: AbortSignal,
): Promise<void> {
  if (names.length === 0) return
  const rows = await deps.database.db
    .selectFrom('uploadSessions')
    .select('id')
    .where('id', 'in', names.map(sessionOfStored))
    .where('status', '=', 'open')
    .where('expiresAt', '>', nowOf(deps))
    .execute()
  const awaited = new Set(rows.map(({ id }) => id))
  for (const name of names.filter((name) => !awaited.has(sessionOfStored(name)))) await store.remove(name, abort)
}
