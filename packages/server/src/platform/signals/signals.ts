/** Something may have been missed: read the state again. */
export interface Reread {
  reread: true
}

export type Listener<Event extends object> = (event: Event | Reread) => void

/**
 * Best-effort news for live streams and for waking up. An event may be lost (a client can always read again) but is
 * never delivered twice, and the events of one publisher on one topic keep their order.
 */
export interface Signals {
  /** Returns at once and never throws. An event must survive JSON. */
  publish(topic: string, event: object): void
  /** Gives the function that ends the subscription. A listener that throws harms no other. */
  subscribe<Event extends object>(topic: string, listener: Listener<Event>): () => void
  close(): Promise<void>
}

export function isReread(event: object): event is Reread {
  return 'reread' in event && event.reread === true
}
