import { limits } from '@berth/contract'
import { job } from '../../../platform/jobs/declare.ts'
import type { Schedule } from '../../../platform/jobs/schedules.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { sweepStored } from './stored-sweep.ts'
import { isReferenced, neverExpires, removeUploadKind, unreferencedSessions } from './upload-claim.ts'
import { UploadFiles } from './upload-files.ts'

type NoPayload = Record<string, never>
const kind = 'projects.sweep-uploads'
const deadlineMs = 10 * 60_000

export const sweepSchedule: Schedule<unknown> = { key: kind, job: { kind }, payload: {}, recurrence: { everySeconds: 3600 } }

/** Removes expired and unreferenced sessions, their tarballs, and files that a killed process left. */
export const sweepJob = (deps: ProjectsDeps) =>
  job<NoPayload, unknown>(kind, {
    deadlineMs,
    run: (_payload, _deps, abort) => sweepUploads(deps, abort),
  })

/** Removes a released session, unless it was claimed again meanwhile. A failed removal is left to the sweep. */
export const removeUploadJob = (deps: ProjectsDeps) =>
  job<{ sessionId: string }, unknown>(removeUploadKind, {
    deadlineMs: 60_000,
    async run({ sessionId }) {
      if (await deleteSession(sessionId, deps, nowOf(deps))) await new UploadFiles(deps).remove(sessionId)
    },
  })

export async function sweepUploads(deps: ProjectsDeps, abort = AbortSignal.timeout(deadlineMs)): Promise<void> {
  const files = new UploadFiles(deps)
  const now = nowOf(deps)
  for (const id of await expiredSessions(deps, now)) {
    abort.throwIfAborted()
    if (await deleteSession(id, deps, now)) await files.remove(id)
  }
  for await (const id of abandonedSessions(deps)) {
    abort.throwIfAborted()
    if (await deleteSession(id, deps, now)) await files.remove(id)
  }
  // The row is inserted before its file and deleted before it: a file without a row is orphaned.
  const storedIds = await files.listStored()
  const knownIds = await knownSessions(storedIds, deps)
  for (const id of storedIds.filter((id) => !knownIds.has(id))) await files.remove(id)
  await files.sweepLeftovers(Date.now() - limits.uploadSessionSeconds * 1000)
  if (deps.uploadStore) await sweepStored(deps.uploadStore, deps, abort)
}

const expiredSessions = async ({ database }: ProjectsDeps, now: number): Promise<string[]> =>
  (await database.db.selectFrom('uploadSessions').select('id').where('expiresAt', '<=', now).limit(1000).execute()).map(
    ({ id }) => id,
  )

/** Takes the same lock as a claim. */
const deleteSession = (id: string, deps: ProjectsDeps, now: number): Promise<boolean> =>
  deps.database.transaction(async ({ db, lock }) => {
    await lock(`upload:${id}`)
    if (await isReferenced(db, id, deps)) return false
    const { numDeletedRows } = await db
      .deleteFrom('uploadSessions')
      .where('id', '=', id)
      .where(({ or, eb }) => or([eb('expiresAt', '<=', now), eb('expiresAt', '=', neverExpires)]))
      .executeTakeFirst()
    return numDeletedRows > 0n
  })

const pageLength = 500

/** Sessions that are marked as in use but unreferenced: a crash or a restore skipped the release. Reads page by page. */
async function* abandonedSessions({ database: { db }, projectPorts }: ProjectsDeps): AsyncGenerator<string> {
  let last = ''
  for (;;) {
    const rows = await unreferencedSessions(db)
      .where('uploadSessions.expiresAt', '=', neverExpires)
      .where('uploadSessions.id', '>', last)
      .orderBy('uploadSessions.id')
      .limit(pageLength)
      .execute()
    const ids = rows.map(({ id }) => id)
    const usedIds = await projectPorts.deployments?.listUsedUploads(db, ids)
    yield* ids.filter((id) => !usedIds?.has(id))
    if (ids.length < pageLength) return
    last = ids.at(-1) as string
  }
}

async function knownSessions(ids: readonly string[], { database }: ProjectsDeps): Promise<Set<string>> {
  const knownIds = new Set<string>()
  for (let at = 0; at < ids.length; at += 500) {
    const rows = await database.db
      .selectFrom('uploadSessions')
      .select('id')
      .where('id', 'in', ids.slice(at, at + 500))
      .execute()
    for (const { id } of rows) knownIds.add(id)
  }
  return knownIds
}
