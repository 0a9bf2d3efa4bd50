import type { ArchiveStore, StoredObject } from './archive-store.ts'
import { isOurName } from './object-name.ts'
import { StoreFailure } from './store-failure.ts'

/** The most that a destination may answer to one listing. Nothing of it is kept: callers take the names as they come. */
export const listingBounds = {
  /** Bytes of one answer, which is read as it comes, an entry at a time. */
  pageBytes: 1024 * 1024,
  names: 1_000_000,
  calls: 5_000,
  /** Folders in each other; names of ours have three parts. */
  depth: 8,
  /** Spent on waiting for the destination. */
  ms: 600_000,
}

export type ListingBounds = typeof listingBounds

export const endlessListing = (bound: string) =>
  new StoreFailure('other', `The destination's listing has more than ${bound}: check which endpoint and folder it is`)

/** Counts the calls of one listing. */
export class CallCount {
  readonly #most: number
  #calls = 0

  constructor({ calls }: ListingBounds) {
    this.#most = calls
  }

  next(): void {
    this.#calls += 1
    if (this.#calls > this.#most) throw endlessListing(`${this.#most} pages`)
  }
}

/**
 * Listings with an end, of names below the asked prefix alone: a destination may answer with any name, and callers remove what
 * is listed.
 */
export function withListingBounds(store: ArchiveStore, bounds: ListingBounds = listingBounds): ArchiveStore {
  return { ...store, list: (prefix, abort) => belowPrefix(store.list(prefix, abort), prefix, bounds) }
}

export async function* belowPrefix(
  items: AsyncIterable<StoredObject>,
  prefix: string,
  { names: mostNames, ms: mostMs }: ListingBounds = listingBounds,
): AsyncGenerator<StoredObject> {
  let names = 0
  let waitedMs = 0
  let since = performance.now()
  for await (const item of items) {
    waitedMs += performance.now() - since
    names += 1
    if (names > mostNames) throw endlessListing(`${mostNames} names`)
    if (waitedMs > mostMs) throw endlessListing(`comes within ${mostMs / 60_000} minutes`)
    if (item.name.startsWith(prefix) && isOurName(item.name)) yield item
    since = performance.now()
  }
}
