import type { CategoryId } from '@berth/contract'
import type { Millis } from '../db/columns.ts'
import type { Db } from '../db/schema.ts'
import type { JobKind } from './declare.ts'
import { type Enqueued, insertJob } from './enqueue.ts'

/** Something that people may have asked to be told of. */
export interface Announcement {
  category: CategoryId
  organizationId: string
  /** It concerns this person alone, as the end of their own token does. */
  userId?: string
  projectId?: string | null
  subject: string
  text: string
  data?: Record<string, unknown>
  /** When it happened. */
  at: Millis
}

export type AnnouncementEvent = Omit<Announcement, 'category' | 'at'>

/** Run by the notifications module, which nobody below it can import. */
export const announceKind: JobKind<Announcement> = { kind: 'notifications.announce' }

export function announce(db: Db, now: Date, category: CategoryId, event: AnnouncementEvent): Promise<Enqueued> {
  return insertJob(db, now, announceKind, { ...event, category, at: now.getTime() })
}
