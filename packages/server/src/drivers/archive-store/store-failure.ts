/**
 * - `denied`: credentials, permissions or the instance's own rules; a retry does not help.
 * - `unreachable`: no response, or the connection broke. `timeout`: the destination stopped responding half-way.
 * - `full`: no space, or over a quota. `missing`: the name does not exist. `corrupt`: the data read differs from the data stored.
 * - `other`: the destination's own error message.
 */
export type StoreFailureReason = 'denied' | 'unreachable' | 'full' | 'missing' | 'corrupt' | 'timeout' | 'other'

/** The message is for users: what happened and what to do next. It contains no secret. */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure'
  readonly reason: StoreFailureReason
  /** Whether a retry may succeed. */
  readonly transient: boolean

  constructor(reason: StoreFailureReason, message: string, options: { cause?: unknown; transient?: boolean } = {}) {
    super(message, { cause: options.cause })
    this.reason = reason
    this.transient = options.transient ?? (reason === 'unreachable' || reason === 'timeout')
  }
}

export const isMissing = (error: unknown): boolean => error instanceof StoreFailure && error.reason === 'missing'

export const missing = (name: string): StoreFailure => new StoreFailure('missing', `${name} does not exist`)
