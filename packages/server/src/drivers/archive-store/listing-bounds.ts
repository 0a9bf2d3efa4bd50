import type { ArchiveStore, StoredObject } from './archive-store.ts'
import { isArchiveName } from './object-name.ts'
import { StoreFailure } from './store-failure.ts'

/** Limits of one listing of a destination. Callers receive the names as a stream; nothing is kept. */
export const listingBounds = {
  /** Bytes of one response, which is parsed as a stream, one entry at a time. */
  pageBytes: 1024 * 1024,
  names: 1_000_000,
  calls: 5_000,
  /** Nested folders; Berth's own names have three parts. */
  depth: 8,
  /** Total time of waiting for the destination. */
  ms: 600_000,
}

export type ListingBounds = typeof listingBounds

export const invalidListing = (problem: string) =>
  new StoreFailure('other', `The destination's listing ${problem}. Check its endpoint and folder.`)

export const listingTooLong = (limit: string) => invalidListing(`has more than ${limit}`)

/** Counts the calls of one listing. */
export class CallCount {
  readonly #max: number
  #calls = 0

  constructor({ calls }: ListingBounds) {
    this.#max = calls
  }

  next(): void {
    this.#calls += 1
    if (this.#calls > this.#max) throw listingTooLong(`${this.#max} pages`)
  }
}

/**
 * Limits listings, and drops names outside the requested prefix: a destination may return any name, and callers remove what is
 * listed.
 */
export function withListingBounds(store: ArchiveStore, bounds: ListingBounds = listingBounds): ArchiveStore {
  return { ...store, list: (prefix, abort) => belowPrefix(store.list(prefix, abort), prefix, bounds) }
}

export async function* belowPrefix(
  items: AsyncIterable<StoredObject>,
  prefix: string,
  { names: maxNames, ms: maxMs }: ListingBounds = listingBounds,
): AsyncGenerator<StoredObject> {
  let names = 0
  let waitedMs = 0
  let since = performance.now()
  for await (const item of items) {
    waitedMs += performance.now() - since
    names += 1
    if (names > maxNames) throw listingTooLong(`${maxNames} names`)
    if (waitedMs > maxMs) throw invalidListing(`took longer than ${maxMs / 60_000} minutes`)
    if (item.name.startsWith(prefix) && isArchiveName(item.name)) yield item
    since = performance.now()
  }
}
