/**
 * What a program reads, from a call that comes after its start. Chunk by chunk: one is asked for when the program has taken the one
 * before, so that nothing piles up here.
 */
export class ExecInput implements AsyncIterable<Uint8Array> {
  readonly #source = Promise.withResolvers<AsyncIterable<Uint8Array>>()
  readonly #taken = Promise.withResolvers<void>()
  #isFed = false

  get isFed(): boolean {
    return this.#isFed
  }

  /** Resolves when the program has taken all of it, or has ended; rejects with what the source threw. */
  feed(source: AsyncIterable<Uint8Array>): Promise<void> {
    this.#isFed = true
    this.#source.resolve(source)
    return this.#taken.promise
  }

  /** The program is over: whoever feeds it waits no longer. */
  end(): void {
    this.#taken.resolve()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      yield* await this.#source.promise
      this.#taken.resolve()
    } catch (error) {
      this.#taken.reject(error)
      throw error
    }
  }
}
