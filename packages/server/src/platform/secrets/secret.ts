import { inspect } from 'node:util'

/** A value that prints as `[secret]`; only the code that needs it calls `reveal`. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [Symbol.toPrimitive](): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}
