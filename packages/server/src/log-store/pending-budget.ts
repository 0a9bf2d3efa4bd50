/** How much of all streams together may wait to be written: appending waits at the first mark and drops lines at the second. */
export class PendingBudget {
  #held = 0
  readonly #most: number

  constructor(mostBytes: number) {
    this.#most = mostBytes
  }

  add(bytes: number): void {
    this.#held += bytes
  }

  get isFull(): boolean {
    return this.#held >= this.#most
  }

  get isExhausted(): boolean {
    return this.#held >= 2 * this.#most
  }
}
