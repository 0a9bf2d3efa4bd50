/** A sleep that can be cut short; a call that comes while nobody sleeps shortens the next one. */
export class Wakeup {
  #pending = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#pending = true
    this.#wake?.()
  }

  async sleep(ms: number): Promise<void> {
    if (!this.#pending) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, ms)
      this.#wake = resolve
      await promise
      clearTimeout(timer)
      this.#wake = undefined
    }
    this.#pending = false
  }
}
