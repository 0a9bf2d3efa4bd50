/**
 * Standard input of a program, from a request that arrives after its start. The next chunk is read only after the program has
 * consumed the previous one, so memory use stays bounded.
 */
export class ExecInput implements AsyncIterable<Uint8Array> {
  readonly #source = Promise.withResolvers<AsyncIterable<Uint8Array>>()
  readonly #consumed = Promise.withResolvers<void>()
  #hasSource = false

  get hasSource(): boolean {
    return this.#hasSource
  }

  /** Resolves when the program has read everything or has exited; rejects with the error of the source. */
  feed(source: AsyncIterable<Uint8Array>): Promise<void> {
    this.#hasSource = true
    this.#source.resolve(source)
    return this.#consumed.promise
  }

  /** Called when the program has exited: resolves a pending `feed`. */
  end(): void {
    this.#consumed.resolve()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      yield* await this.#source.promise
      this.#consumed.resolve()
    } catch (error) {
      this.#consumed.reject(error)
      throw error
    }
  }
}
