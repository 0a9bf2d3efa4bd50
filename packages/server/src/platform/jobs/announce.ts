import type { CategoryId } from '@berth/contract'
import type { Millis } from '../db/columns.ts'
import type { Db } from '../db/schema.ts'
import type { JobKind } from './declare.ts'
import { type Enqueued, insertJob } from './enqueue.ts'

/** An event that users may have subscribed to. */
export interface Announcement {
  category: CategoryId
  organizationId: string
  /** The only recipient, for an event that concerns one user, such as the expiry of their own token. */
  userId?: string
  projectId?: string | null
  subject: string
  text: string
  data?: Record<string, unknown>
  /** When it happened. */
  at: Millis
}

export type AnnouncementEvent = Omit<Announcement, 'category' | 'at'>

/** The notifications module runs this job; the layers below that module cannot import it. */
export const announceKind: JobKind<Announcement> = { kind: 'notifications.announce' }

export function announce(db: Db, now: Date, category: CategoryId, event: AnnouncementEvent): Promise<Enqueued> {
  return insertJob(db, now, announceKind, { ...event, category, at: now.getTime() })
}
