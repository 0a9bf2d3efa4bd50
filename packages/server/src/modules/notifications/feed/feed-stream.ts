import type { contract, EventsOf } from '@berth/contract'
import { type Change, streamEntity } from '../../../http/entity-stream.ts'
import type { EventStream } from '../../../http/handler.ts'
import { type NotificationsDeps, nowOf } from '../deps.ts'
import * as feed from './feed-store.ts'

/** Signals for open feeds: one per announcement, however many users it reaches. Each feed reads its own part. */
export type FeedSignal = { announced: string } | { delivered: string; userId: string } | { seen: string; userId: string }

export const feedTopic = (organizationId: string) => `notifications:${organizationId}`

type FeedStream = EventStream<EventsOf<(typeof contract.notifications)['streamDeliveries']>>

/** Streams the feed: the unread count, then new entries. A reconnecting client gets the entries it missed. */
export async function streamFeed(stream: FeedStream, reader: feed.Reader, deps: NotificationsDeps): Promise<void> {
  const { db, signals } = deps.database
  const relay = new Relay(stream, reader, deps)
  await streamEntity<number, FeedSignal>(signals, stream.abort, {
    topic: feedTopic(reader.organizationId),
    isRelevant: (signal) => 'announced' in signal || signal.userId === reader.userId,
    read: () => feed.countUnseen(db, reader),
    async open(count) {
      await stream.send('snapshot', { count })
      await relay.resume(stream.lastEventId)
    },
    relay: (changes) => relay.pass(changes),
  })
}

const maxRemembered = 1_000
const maxMissed = 200
/** Maximum difference between the clocks of control planes, plus the time until a commit. */
const skewMs = 5_000

/** Writes each entry once, whether a signal announced it or a catch-up read it. */
class Relay {
  readonly #stream: FeedStream
  readonly #reader: feed.Reader
  readonly #deps: NotificationsDeps
  readonly #sent = new Set<string>()
  #since: number

  constructor(stream: FeedStream, reader: feed.Reader, deps: NotificationsDeps) {
    this.#stream = stream
    this.#reader = reader
    this.#deps = deps
    this.#since = nowOf(deps)
  }

  async resume(lastEventId: string | null): Promise<void> {
    if (!lastEventId) return
    const last = await feed.findDelivery(this.#deps.database.db, this.#reader, lastEventId)
    if (!last?.sentAt) return
    this.#since = last.sentAt
    this.#sent.add(last.id)
    await this.#sendMissed()
  }

  async pass({ signals, missed }: Change<FeedSignal>): Promise<void> {
    const { db } = this.#deps.database
    const announced = signals.flatMap((signal) => ('announced' in signal ? signal.announced : []))
    const delivered = signals.flatMap((signal) => ('delivered' in signal ? signal.delivered : []))
    const seen = signals.flatMap((signal) => ('seen' in signal ? signal.seen : []))
    if (announced.length > 0) await this.#send(await feed.findAnnounced(db, this.#reader, announced))
    if (delivered.length > 0) await this.#send(await feed.findDelivered(db, this.#reader, delivered))
    if (missed) await this.#sendMissed()
    if (seen.length === 0 && !missed) return
    const count = await feed.countUnseen(db, this.#reader)
    for (const id of seen) if (await this.#isVisible(id)) await this.#stream.send('seen', { id, count })
    if (missed) await this.#stream.send('snapshot', { count })
  }

  /** Whether a project-limited token may see the entry. */
  async #isVisible(id: string): Promise<boolean> {
    return this.#reader.projectIds === null || !!(await feed.findDelivery(this.#deps.database.db, this.#reader, id))
  }

  async #sendMissed(): Promise<void> {
    await this.#send(await feed.findSince(this.#deps.database.db, this.#reader, this.#since - skewMs, maxMissed))
  }

  async #send(rows: Awaited<ReturnType<typeof feed.findSince>>): Promise<void> {
    for (const row of rows) {
      if (this.#sent.has(row.id)) continue
      this.#sent.add(row.id)
      this.#since = Math.max(this.#since, row.sentAt ?? 0)
      await this.#stream.send('delivery', feed.showDelivery(row), row.id)
    }
    for (const id of this.#sent) {
      if (this.#sent.size <= maxRemembered) break
      this.#sent.delete(id)
    }
  }
}
