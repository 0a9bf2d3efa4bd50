/**
 * - `denied`: credentials, permissions or the instance's own rules; asking again changes nothing.
 * - `unreachable`: nobody answered, or the connection broke. `timeout`: somebody fell silent half-way.
 * - `full`: no room, or over a quota. `missing`: no such name. `corrupt`: what came back is not what was stored.
 * - `other`: what the place said, in its own words.
 */
export type StoreFailureReason = 'denied' | 'unreachable' | 'full' | 'missing' | 'corrupt' | 'timeout' | 'other'

/** The message is for people: what happened and what to do next. It names no secret. */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure'
  readonly reason: StoreFailureReason
  /** Whether the same call may well work a moment later. */
  readonly transient: boolean

  constructor(reason: StoreFailureReason, words: string, options: { cause?: unknown; transient?: boolean } = {}) {
    super(words, { cause: options.cause })
    this.reason = reason
    this.transient = options.transient ?? (reason === 'unreachable' || reason === 'timeout')
  }
}

export const isMissing = (error: unknown): boolean => error instanceof StoreFailure && error.reason === 'missing'

export const missing = (name: string): StoreFailure => new StoreFailure('missing', `${name} is not there`)
