import { setImmediate as otherWorkFirst } from 'node:timers/promises'
import { newId } from '../../db/ids.ts'
import type { Bound } from '../../db/transaction.ts'
import { type Announcement, announceKind } from '../../jobs/announce.ts'
import { type Job, job } from '../../jobs/declare.ts'
import { channelsToTell, isOnByDefault, lacksFeed } from './audience.ts'
import * as store from './delivery-store.ts'
import { type NotificationsDeps, nowOf } from './deps.ts'
import { type FeedSignal, feedTopic } from './feed-signal.ts'
import { clamp, oneLine } from './kinds/clamp.ts'
import { makeDeliveries, type Target } from './make-deliveries.ts'
import { insertChannel } from './store.ts'

/** Tells people: who is decided, and a delivery written for each of their channels, in one transaction. */
export function announceJob(deps: NotificationsDeps): Job<Announcement, undefined> {
  return job<Announcement, undefined>(announceKind.kind, {
    deadlineMs: 120_000,
    maxAttempts: 20,
    async run(announcement, _deps, _abort, { jobId }) {
      // SQLite answers without ever yielding: a burst of announcements must not keep requests waiting.
      await otherWorkFirst()
      await tell(jobId, announcement, deps)
    },
  })
}

/** `id` is the job's own: running it again finds what it wrote and does nothing. */
function tell(id: string, announcement: Announcement, deps: NotificationsDeps): Promise<void> {
  const { organizationId, category } = announcement
  return deps.database.transaction(async (bound) => {
    // One announcement of an organisation at a time, so that each sees what the one before added to a burst.
    await bound.lock(`notifications:${organizationId}`)
    if (await store.isAnnounced(bound.db, id)) return
    const targets = await findTargets(bound, announcement, deps)
    if (targets.length === 0) return
    await store.insertAnnouncement(bound.db, { id, organizationId, category, ...contentOf(announcement) })
    for (let at = 0; at < targets.length; at += chunk) {
      await makeDeliveries(targets.slice(at, at + chunk), {
        bound,
        announced: { id, organizationId, category },
        now: nowOf(deps),
      })
    }
    if (targets.some(({ kind }) => kind === 'in_app'))
      bound.signal(feedTopic(organizationId), { announced: id } satisfies FeedSignal)
  })
}

/** Rows of one statement: both databases bound the number of its values. */
const chunk = 500

async function findTargets(bound: Bound, announcement: Announcement, deps: NotificationsDeps): Promise<Target[]> {
  const { organizationId, category, userId } = announcement
  const onByDefault = isOnByDefault(category, await store.findDefault(bound.db, organizationId, category))
  const rows = await store.findPeople(bound.db, organizationId, category, userId)
  const targets: Target[] = []
  for (const [person, theirs] of Map.groupBy(rows, (row) => row.userId)) {
    const channels = theirs.flatMap(asTarget)
    if (lacksFeed(channels, onByDefault)) channels.push(await makeFeed(bound, person, organizationId, deps))
    targets.push(...channelsToTell(channels, onByDefault))
  }
  return targets
}

const asTarget = ({ userId, channelId, kind, enabled, verified, subscribed }: store.PersonRow): Target[] =>
  channelId === null || kind === null
    ? []
    : [
        {
          id: channelId,
          userId,
          kind,
          enabled: enabled === 1,
          verified: verified === 1,
          subscribed: subscribed === null ? null : subscribed === 1,
        },
      ]

/** Everyone has a feed: its channel is made when something first goes there. */
async function makeFeed({ db }: Bound, userId: string, organizationId: string, deps: NotificationsDeps): Promise<Target> {
  const now = nowOf(deps)
  const { id } = await insertChannel(db, {
    id: newId('nch'),
    organizationId,
    userId,
    kind: 'in_app',
    label: 'In-app',
    config: '{}',
    secrets: null,
    configRevision: 1,
    enabled: true,
    verified: true,
    createdAt: now,
    updatedAt: now,
  })
  return { id, userId, kind: 'in_app', enabled: true, verified: true, subscribed: null }
}

const limits = { subject: 300, text: 8_000, data: 32_768 }

/** What other modules put into words may hold anything, such as the last lines of a build. */
function contentOf({ projectId = null, subject, text, data = {}, at }: Announcement) {
  const json = JSON.stringify(data)
  return {
    projectId,
    subject: clamp(oneLine(clean(subject)), limits.subject),
    text: clamp(clean(text), limits.text),
    data: json.length > limits.data ? '{}' : json,
    createdAt: at,
    sequence: nextSequence(at),
  }
}

let lastSequence = 0

/** Microseconds, made strictly growing. */
function nextSequence(at: number): number {
  lastSequence = Math.max(lastSequence + 1, at * 1000)
  return lastSequence
}

/** PostgreSQL keeps no NUL in a text, and UTF-8 no half of a surrogate pair. */
const clean = (text: string) => text.replaceAll('\0', '').toWellFormed()
