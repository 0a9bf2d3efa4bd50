import type { UploadStore } from '../../../drivers/upload-store/upload-store.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { sessionIdOf } from './stored-upload.ts'

/** Removes objects from the store that no session waits for: expired, already fetched, or uploaded after that. */
export async function sweepStored(store: UploadStore, deps: ProjectsDeps, abort: AbortSignal): Promise<void> {
  let names: string[] = []
  for await (const { name } of store.list('', abort)) {
    names.push(name)
    if (names.length < 500) continue
    await removeUnexpected(names, store, deps, abort)
    names = []
  }
  await removeUnexpected(names, store, deps, abort)
}

async function removeUnexpected(
  names: readonly string[],
  store: UploadStore,
  deps: ProjectsDeps,
  abort: AbortSignal,
): Promise<void> {
  if (names.length === 0) return
  const rows = await deps.database.db
    .selectFrom('uploadSessions')
    .select('id')
    .where('id', 'in', names.map(sessionIdOf))
    .where('status', '=', 'open')
    .where('expiresAt', '>', nowOf(deps))
    .execute()
  const openSessions = new Set(rows.map(({ id }) => id))
  for (const name of names.filter((name) => !openSessions.has(sessionIdOf(name)))) await store.remove(name, abort)
}
