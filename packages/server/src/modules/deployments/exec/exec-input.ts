/**
 * Standard input of a program, from a request that arrives after its start. The next chunk is read only after the program has
 * consumed the previous one, so memory use stays bounded.
 */
export class ExecInput implements AsyncIterable<Uint8Array> {
  readonly #source = Promise.withResolvers<AsyncIterable<Uint8Array>>()
  readonly #taken = Promise.withResolvers<void>()
  #isFed = false

  get isFed(): boolean {
    return this.#isFed
  }

  /** Resolves when the program has read everything or has exited; rejects with the error of the source. */
  feed(source: AsyncIterable<Uint8Array>): Promise<void> {
    this.#isFed = true
    this.#source.resolve(source)
    return this.#taken.promise
  }

  /** Called when the program has exited: resolves a pending `feed`. */
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
