import type { contract, EventsOf } from '@berth/contract'
import type { EventStream } from '../../../http/handler.ts'
import { isReread, type Reread } from '../../../platform/signals/signals.ts'
import { type NotificationsDeps, nowOf } from '../deps.ts'
import { type FeedSignal, feedTopic } from './feed-signal.ts'
import * as feed from './feed-store.ts'

type FeedStream = EventStream<EventsOf<(typeof contract.notifications)['streamDeliveries']>>

/** The bell, live: the count, then entries as they come. A reader that comes back gets what it missed. */
export async function streamFeed(stream: FeedStream, reader: feed.Reader, deps: NotificationsDeps): Promise<void> {
  const { db, signals } = deps.database
  const inbox = new Inbox(reader.userId)
  // Subscribed before the count is read, or an entry could fall between.
  const unsubscribe = signals.subscribe<FeedSignal>(feedTopic(reader.organizationId), (event) => inbox.take(event))
  try {
    const relay = new Relay(stream, reader, deps)
    await stream.send('snapshot', { count: await feed.countUnseen(db, reader) })
    await relay.resume(stream.lastEventId)
    for (;;) await relay.pass(await inbox.next(stream.abort))
  } finally {
    unsubscribe()
  }
}

interface News {
  announced: string[]
  delivered: string[]
  seen: string[]
  /** Something was missed: look at everything again. */
  reread: boolean
}

const mostWaiting = 200

/** Gathers signals while the reader is being written to; a flood becomes one look at the whole. */
class Inbox {
  readonly #userId: string
  #news: News = noNews()
  #count = 0
  #wake: (() => void) | undefined

  constructor(userId: string) {
    this.#userId = userId
  }

  take(event: FeedSignal | Reread): void {
    if (isReread(event) || this.#count >= mostWaiting) this.#news = { ...noNews(), reread: true }
    else if ('announced' in event) this.#news.announced.push(event.announced)
    else if (event.userId !== this.#userId) return
    else if ('delivered' in event) this.#news.delivered.push(event.delivered)
    else this.#news.seen.push(event.seen)
    this.#count++
    this.#wake?.()
  }

  async next(abort: AbortSignal): Promise<News> {
    while (this.#count === 0) {
      abort.throwIfAborted()
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      abort.addEventListener('abort', this.#wake, { once: true })
      await promise
      abort.removeEventListener('abort', this.#wake)
    }
    const news = this.#news
    this.#news = noNews()
    this.#count = 0
    return news
  }
}

const noNews = (): News => ({ announced: [], delivered: [], seen: [], reread: false })

const mostRemembered = 1_000
const mostMissed = 200
/** Clocks of control planes differ by so much at most, and a commit comes a little after its time. */
const skewMs = 5_000

/** Writes each entry once, whichever way it was heard of. */
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

  async pass({ announced, delivered, seen, reread }: News): Promise<void> {
    const { db } = this.#deps.database
    if (announced.length > 0) await this.#send(await feed.findAnnounced(db, this.#reader, announced))
    if (delivered.length > 0) await this.#send(await feed.findDelivered(db, this.#reader, delivered))
    if (reread) await this.#sendMissed()
    if (seen.length === 0 && !reread) return
    const count = await feed.countUnseen(db, this.#reader)
    for (const id of seen) if (await this.#isInReach(id)) await this.#stream.send('seen', { id, count })
    if (reread) await this.#stream.send('snapshot', { count })
  }

  /** A token that is limited to projects is not told of entries that speak of others. */
  async #isInReach(id: string): Promise<boolean> {
    return this.#reader.projectIds === null || !!(await feed.findDelivery(this.#deps.database.db, this.#reader, id))
  }

  async #sendMissed(): Promise<void> {
    await this.#send(await feed.findSince(this.#deps.database.db, this.#reader, this.#since - skewMs, mostMissed))
  }

  async #send(rows: Awaited<ReturnType<typeof feed.findSince>>): Promise<void> {
    for (const row of rows) {
      if (this.#sent.has(row.id)) continue
      this.#sent.add(row.id)
      this.#since = Math.max(this.#since, row.sentAt ?? 0)
      await this.#stream.send('delivery', feed.showDelivery(row), row.id)
    }
    for (const id of this.#sent) {
      if (this.#sent.size <= mostRemembered) break
      this.#sent.delete(id)
    }
  }
}
