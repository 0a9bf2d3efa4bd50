import type { Db } from '../db/schema.ts'
import type { JobKind } from './declare.ts'
import { type Enqueued, insertJob } from './enqueue.ts'

/** Something that people may have asked to be told of. */
export interface Announcement {
  category: string
  organizationId: string
  projectId?: string | null
  subject: string
  text: string
  data?: Record<string, unknown>
}

export type AnnouncementEvent = Omit<Announcement, 'category'>

/** Run by the notifications module, which nobody below it can import. */
export const announceKind: JobKind<Announcement> = { kind: 'notifications.announce' }

export function announce(db: Db, now: Date, category: string, event: AnnouncementEvent): Promise<Enqueued> {
  return insertJob(db, now, announceKind, { ...event, category })
}
