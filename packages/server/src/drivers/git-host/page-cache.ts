export interface Page<Item> {
  etag: string | null
  items: readonly Item[]
  lastPage: number
}

const maxItems = 50_000

/**
 * Pages of lists as last read, with the host's ETag: a request with it is answered "not modified", without a body and without
 * counting against the rate limit. The least recently used pages are evicted.
 */
export class PageCache {
  readonly #pages = new Map<string, Page<unknown>>()
  #items = 0

  get<Item>(key: string): Page<Item> | undefined {
    const page = this.#pages.get(key)
    if (!page) return undefined
    this.#pages.delete(key)
    this.#pages.set(key, page)
    return page as Page<Item>
  }

  set(key: string, page: Page<unknown>): void {
    this.#forget(key)
    this.#pages.set(key, page)
    this.#items += page.items.length + 1
    for (const oldest of this.#pages.keys()) {
      if (this.#items <= maxItems) break
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    const page = this.#pages.get(key)
    if (!page) return
    this.#pages.delete(key)
    this.#items -= page.items.length + 1
  }
}
