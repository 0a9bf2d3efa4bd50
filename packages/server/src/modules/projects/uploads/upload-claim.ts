import { refuse } from '../../../platform/failure.ts'
import type { Bound } from '../../../platform/transaction.ts'

/** A session that a project is made of does not run out; the largest time that a Date can hold. */
export const never = 8_640_000_000_000_000

/** The project that wants it; one that is being made has no id that an upload could be for. */
interface Claimant {
  organizationId: string
  id: string | null
}

/**
 * Makes sure of a received upload before a project refers to it: whoever clears away old sessions looks at `expiresAt`
 * alone, and this row is written, hence locked, until the reference is committed too.
 */
export async function claimUpload(bound: Bound, sessionId: string, { organizationId, id }: Claimant, now: number): Promise<void> {
  await bound.lock(`upload:${sessionId}`)
  const claimed = await bound.db
    .updateTable('uploadSessions')
    .set({ expiresAt: never })
    .where('id', '=', sessionId)
    .where('organizationId', '=', organizationId)
    .where((is) => is.or([is('projectId', 'is', null), is('projectId', '=', id)]))
    .where('status', '=', 'received')
    .where('expiresAt', '>', now)
    .returning('id')
    .executeTakeFirst()
  if (!claimed) refuse('uploadSessionId', 'there is no upload of this id that has arrived whole')
}

/** The project lets go of it; if no other one refers to it, it runs out now. */
export async function releaseUpload(bound: Bound, sessionId: string, projectId: string, now: number): Promise<void> {
  await bound.lock(`upload:${sessionId}`)
  await bound.db
    .updateTable('uploadSessions')
    .set({ expiresAt: now })
    .where('id', '=', sessionId)
    .where(({ not, exists, selectFrom }) => {
      const others = selectFrom('projects').select('projects.id').where('projects.id', '!=', projectId)
      return not(exists(others.where('projects.uploadSessionId', '=', sessionId)))
    })
    .execute()
}
