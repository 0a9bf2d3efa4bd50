/** An interruptible sleep; `ring` during a sleep ends it, and `ring` outside a sleep skips the next one. */
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
