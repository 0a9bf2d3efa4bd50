import { isReread, type Reread, type Signals } from '../platform/signals/signals.ts'

/** Changes of an entity since the last write to the stream. */
export interface Change<Signal> {
  /** Signals in publish order; empty when some were missed. */
  signals: Signal[]
  /** True if signals were lost, or came faster than the client reads: only the database has the current state. */
  missed: boolean
}

/** An entity to stream. Each function sends its own events; they are never called concurrently. */
export interface StreamedEntity<Row, Signal extends object> {
  topic: string
  /** False for signals on the topic that are for other readers. */
  isRelevant?(signal: Signal): boolean
  /** The current row. */
  read(): Promise<Row>
  /** Sends `snapshot`; to a client that reconnects with `Last-Event-ID`, also the events it missed. */
  open(row: Row): Promise<void>
  /** Sends the events of the changes. `row` was read after the signals arrived; without an `end`, it is the row of the snapshot. */
  relay(changes: Change<Signal>, row: Row): Promise<void>
  /** Absent: the entity has no end, and the stream lasts until the client disconnects. */
  end?: {
    isReached(row: Row): boolean
    /** Sends the remaining events, then `complete`. */
    complete(row: Row): Promise<void>
  }
}

const maxWaitMs = 2_000

/**
 * Streams an entity: subscribes, sends the snapshot, relays changes, and sends `complete`. The order ensures that no event is
 * lost. Returns after `complete`, at once if the row is already terminal; throws when `abort` fires. A signal may be lost between
 * control planes, so while waiting for an end the row is read again every 2 s. At most 200 signals are queued for a slow client;
 * more become `missed`. The heartbeat (a comment line every 15 s) and the disconnection of slow clients are in sse.ts; the
 * repeated access check is in open-streams.ts.
 */
export async function streamEntity<Row, Signal extends object>(
  signals: Signals,
  abort: AbortSignal,
  entity: StreamedEntity<Row, Signal>,
): Promise<void> {
  const { end, isRelevant = () => true } = entity
  const inbox = new Inbox<Signal>()
  const unsubscribe = signals.subscribe<Signal>(entity.topic, (event) => {
    if (isReread(event) || isRelevant(event)) inbox.add(event)
  })
  try {
    let row = await entity.read()
    await entity.open(row)
    while (!end?.isReached(row)) {
      await inbox.waitForSignals(abort, end ? maxWaitMs : null)
      // The row is read before the inbox is emptied, so that the signals that led to a terminal row are relayed.
      if (end) row = await entity.read()
      await entity.relay(inbox.takeAll(), row)
    }
    await end?.complete(row)
  } finally {
    unsubscribe()
  }
}

const maxQueued = 200

/** Queues signals while the client is being written to. */
class Inbox<Signal extends object> {
  #signals: Signal[] = []
  #missed = false
  #wake = () => {}

  add(event: Signal | Reread): void {
    if (isReread(event) || this.#signals.length >= maxQueued) {
      this.#missed = true
      this.#signals = []
    } else if (!this.#missed) this.#signals.push(event)
    this.#wake()
  }

  /** Resolves when there are signals or after the timeout; rejects when `abort` fires. */
  async waitForSignals(abort: AbortSignal, maxMs: number | null): Promise<void> {
    abort.throwIfAborted()
    if (this.#signals.length > 0 || this.#missed) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = maxMs === null ? undefined : setTimeout(resolve, maxMs)
    const wake = () => resolve()
    this.#wake = wake
    abort.addEventListener('abort', wake, { once: true })
    await promise
    clearTimeout(timer)
    abort.removeEventListener('abort', wake)
    abort.throwIfAborted()
  }

  takeAll(): Change<Signal> {
    const changes = { signals: this.#signals, missed: this.#missed }
    this.#signals = []
    this.#missed = false
    return changes
  }
}
