import type { ArchiveStore } from './archive-store.ts'
import { checkByRoundTrip } from './check-by-round-trip.ts'
import { StoreFailure } from './store-failure.ts'

/** Test support: a store that fails on purpose. It wraps the bare store, below the retries, limits and log of every store. */
export type Fault =
  /** put: stores half of the content, and returns the size of that half. */
  | 'short_write'
  /** put: stores nothing, and reports success. */
  | 'lies'
  /** put: reads the content, then reports a full disk. */
  | 'full'
  /** get: ends half-way without an error. */
  | 'truncated_read'
  /** get: one bit in the middle is flipped. */
  | 'flipped_byte'
  /** Any call: `denied` is refused, `server_error` is a transient 5xx, `hang` never ends, also after an abort. */
  | 'denied'
  | 'server_error'
  | 'hang'

export type Call = 'put' | 'get' | 'size' | 'list' | 'remove'

export interface ArmedFault {
  fault: Fault
  on: Call
  /** Affected names; absent: all. */
  name?: RegExp
  /** Number of failures; absent: unlimited. */
  times?: number
  /** Number of matching calls that succeed first. */
  after?: number
}

export class FaultyLocation {
  #armed: (ArmedFault & { seen: number })[] = []
  /** Injected failures, in order: `put full runs/1/data.0000.tar.zst.age`. */
  readonly hits: string[] = []
  /** Every call, in order: `put runs/1/data.0000.tar.zst.age`. */
  readonly calls: string[] = []

  arm(fault: ArmedFault): void {
    this.#armed.push({ ...fault, seen: 0 })
  }

  disarm(): void {
    this.#armed = []
    this.hits.length = 0
    this.calls.length = 0
  }

  /** Whether a fault that never returns is armed. */
  get hangs(): boolean {
    return this.#armed.some(({ fault }) => fault === 'hang')
  }

  /** Wrapper for `createArchiveStores({ wrap })`. */
  readonly around = (store: ArchiveStore): ArchiveStore => {
    const faulty = this.#around(store)
    // A check uses the faulty calls, as every other caller does.
    return { ...faulty, check: (abort) => checkByRoundTrip(faulty, abort) }
  }

  readonly #around = (store: ArchiveStore): Omit<ArchiveStore, 'check'> => ({
    put: (name, content, abort) => this.#put(store, name, content, abort),
    get: (name, abort, options) => this.#get(store, name, abort, options),
    size: (name, abort) => this.#before('size', name, () => store.size(name, abort)),
    list: (prefix, abort) => this.#list(store, prefix, abort),
    remove: (name, abort) => this.#before('remove', name, () => store.remove(name, abort)),
    removeUnfinished: (olderThan, abort) => store.removeUnfinished(olderThan, abort),
    close: () => store.close(),
  })

  #next(on: Call, name: string): Fault | undefined {
    this.calls.push(`${on} ${name}`)
    for (const armed of this.#armed) {
      if (armed.on !== on || !(armed.name ?? /^/).test(name)) continue
      const before = armed.seen
      armed.seen += 1
      const from = armed.after ?? 0
      if (before < from || before >= from + (armed.times ?? Number.POSITIVE_INFINITY)) continue
      this.hits.push(`${on} ${armed.fault} ${name}`)
      return armed.fault
    }
    return undefined
  }

  async #before<Result>(on: Call, name: string, work: () => Promise<Result>): Promise<Result> {
    await goWrong(this.#next(on, name))
    return work()
  }

  async #put(store: ArchiveStore, name: string, content: AsyncIterable<Uint8Array>, abort: AbortSignal) {
    const fault = this.#next('put', name)
    await goWrong(fault)
    if (fault !== 'lies' && fault !== 'short_write' && fault !== 'full') return store.put(name, content, abort)
    const whole = await gather(content)
    if (fault === 'full') throw new StoreFailure('full', 'The disk is full')
    if (fault === 'lies') return { sizeBytes: whole.length }
    return store.put(name, pieces(whole.subarray(0, whole.length >> 1)), abort)
  }

  async *#get(
    store: ArchiveStore,
    name: string,
    abort: AbortSignal,
    options?: { from?: number },
  ): AsyncGenerator<Uint8Array, void> {
    const fault = this.#next('get', name)
    await goWrong(fault)
    if (fault !== 'truncated_read' && fault !== 'flipped_byte') return yield* store.get(name, abort, options)
    const whole = await gather(store.get(name, abort, options))
    if (fault === 'truncated_read') return yield whole.subarray(0, whole.length >> 1)
    if (whole.length > 0) whole[whole.length >> 1]! ^= 1
    yield whole
  }

  async *#list(store: ArchiveStore, prefix: string, abort: AbortSignal) {
    await goWrong(this.#next('list', prefix))
    yield* store.list(prefix, abort)
  }
}

async function goWrong(fault: Fault | undefined): Promise<void> {
  if (fault === 'denied') throw new StoreFailure('denied', 'The destination denied access: allow it there')
  if (fault === 'server_error') throw new StoreFailure('unreachable', 'The destination failed (503)')
  if (fault === 'hang') await new Promise(() => undefined)
}

async function gather(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of content) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
