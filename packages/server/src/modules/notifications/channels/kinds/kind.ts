import type { FieldProblem } from '@berth/contract'
import type { Mailer } from '../../../../drivers/mail/mailer.ts'
import type { WebRequest } from '../../../../drivers/web-request/web-request.ts'
import type { Message } from './message.ts'

/** A way to reach a person. One file a kind; the registry lists them. */
export interface ChannelKind<Config extends object = object, Secrets extends object = object> {
  readonly kind: string
  /** The spec names it; the others are extras of ours. */
  readonly documented: boolean
  /**
   * Splits what the caller sent into what may be stored as it is and what must be sealed. With `previous` (a PATCH) a
   * secret that is left out, or comes back in its redacted form, stays what it was.
   */
  checkConfig(input: unknown, settings: ChannelSettings, previous?: Stored<Config, Secrets>): CheckedConfig<Config, Secrets>
  /** What a read shows. */
  redact(config: Config, secrets: Secrets): Record<string, unknown>
  /** The same destination: storing `b` over `a` changes nothing, so the channel stays verified. */
  sameConfig(a: Stored<Config, Secrets>, b: Stored<Config, Secrets>): boolean
  /** Resolves once the other side has taken it; else rejects with DeliveryFailed, or with the abort's own reason. */
  deliver(message: Message, config: Config, secrets: Secrets, drivers: DeliveryDrivers, abort: AbortSignal): Promise<void>
}

export interface ChannelSettings {
  /** `host` or `host:port` that chat URLs must be on; the providers' own when absent. */
  slackHost?: string
  discordHost?: string
}

export interface Stored<Config, Secrets> {
  config: Config
  secrets: Secrets
}

export type CheckedConfig<Config, Secrets> =
  | { ok: true; config: Config; secrets: Secrets; shownOnce?: { secret: string } }
  | { ok: false; problems: FieldProblem[] }

export interface DeliveryDrivers {
  webRequest: WebRequest
  mailer: Mailer
  now(): Date
  /** The base of Telegram's API; its own when absent. */
  telegramApi?: string
}

/** `reason` is for the person who owns the channel: readable, and free of secrets. */
export class DeliveryFailed extends Error {
  override readonly name = 'DeliveryFailed'
  readonly permanent: boolean
  readonly reason: string
  /** The other side asked for a pause before the next try. */
  readonly retryAfterMs: number | undefined

  constructor(reason: string, { permanent, retryAfterMs }: { permanent: boolean; retryAfterMs?: number }) {
    super(reason)
    this.reason = reason
    this.permanent = permanent
    this.retryAfterMs = retryAfterMs
  }
}
