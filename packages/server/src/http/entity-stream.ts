import { isReread, type Reread, type Signals } from '../platform/signals/signals.ts'

/** What happened to an entity since the stream was last written to. */
export interface News<Signal> {
  /** In the order in which they were published. Empty when something was missed. */
  signals: Signal[]
  /** Signals were lost, or came faster than the reader takes them: only the database knows what happened. */
  missed: boolean
}

/** One entity as a stream shows it. Each function writes its own events; none is called while another runs. */
export interface StreamedEntity<Row, Signal extends object> {
  topic: string
  /** Signals on the topic that are meant for other readers are left out. */
  concerns?(signal: Signal): boolean
  /** The entity as the database has it now. */
  read(): Promise<Row>
  /** Sends `snapshot`; and, to a reader that comes back with `Last-Event-ID`, what it has not got. */
  open(row: Row): Promise<void>
  /** Sends what the news are about. `row` was read after the news came; it is the snapshot's where the entity has no end. */
  relay(news: News<Signal>, row: Row): Promise<void>
  /** Absent: the entity has no end, the stream lasts as long as its reader. */
  end?: {
    isReached(row: Row): boolean
    /** Sends what is left, then `complete`. */
    complete(row: Row): Promise<void>
  }
}

const waitAtMostMs = 2_000

/**
 * The one way an entity is streamed: subscribe, then read the snapshot, then relay, then `complete`; in that order, or an
 * event falls between. Returns after `complete`, at once where the row is terminal already; throws when `abort` ends.
 *
 * A signal may be lost between two control planes: while an end is awaited the row is read again every 2 s in any case.
 * At most 200 signals wait for a slow reader; more become one `missed`. The heartbeat (a comment line every 15 s) and dropping
 * who is too slow are in sse.ts; that access is judged again while the stream is open is in open-streams.ts.
 */
export async function streamEntity<Row, Signal extends object>(
  signals: Signals,
  abort: AbortSignal,
  entity: StreamedEntity<Row, Signal>,
): Promise<void> {
  const { end, concerns = () => true } = entity
  const inbox = new Inbox<Signal>()
  const unsubscribe = signals.subscribe<Signal>(entity.topic, (event) => {
    if (isReread(event) || concerns(event)) inbox.add(event)
  })
  try {
    let row = await entity.read()
    await entity.open(row)
    while (!end?.isReached(row)) {
      await inbox.filled(abort, end ? waitAtMostMs : null)
      // The row is read before the inbox is emptied: what led to a terminal row was published by then and is relayed.
      if (end) row = await entity.read()
      await entity.relay(inbox.empty(), row)
    }
    await end?.complete(row)
  } finally {
    unsubscribe()
  }
}

const mostWaiting = 200

/** Gathers signals while the reader is being written to. */
class Inbox<Signal extends object> {
  #signals: Signal[] = []
  #missed = false
  #wake = () => {}

  add(event: Signal | Reread): void {
    if (isReread(event) || this.#signals.length >= mostWaiting) {
      this.#missed = true
      this.#signals = []
    } else if (!this.#missed) this.#signals.push(event)
    this.#wake()
  }

  /** Resolves when something is in it, or after the time; rejects when `abort` ends. */
  async filled(abort: AbortSignal, atMostMs: number | null): Promise<void> {
    abort.throwIfAborted()
    if (this.#signals.length > 0 || this.#missed) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = atMostMs === null ? undefined : setTimeout(resolve, atMostMs)
    const wake = () => resolve()
    this.#wake = wake
    abort.addEventListener('abort', wake, { once: true })
    await promise
    clearTimeout(timer)
    abort.removeEventListener('abort', wake)
    abort.throwIfAborted()
  }

  empty(): News<Signal> {
    const news = { signals: this.#signals, missed: this.#missed }
    this.#signals = []
    this.#missed = false
    return news
  }
}
