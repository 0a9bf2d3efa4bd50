/** Events may have been lost: the listener reads the state again. */
export interface Reread {
  reread: true
}

export type Listener<Event extends object> = (event: Event | Reread) => void

/**
 * Best-effort events for live streams and wake-ups. An event may be lost (a client can always read again) but is never delivered
 * twice, and the events of one publisher on one topic keep their order.
 */
export interface Signals {
  /** Returns immediately and never throws. An event must be serialisable as JSON. */
  publish(topic: string, event: object): void
  /** Returns the function that ends the subscription. A listener that throws does not affect the others. */
  subscribe<Event extends object>(topic: string, listener: Listener<Event>): () => void
  close(): Promise<void>
}

export function isReread(event: object): event is Reread {
  return 'reread' in event && event.reread === true
}
