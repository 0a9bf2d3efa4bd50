import type { FieldProblem } from '@berth/contract'
import type { Mailer } from '../../../drivers/mail/mailer.ts'
import type { WebRequest } from '../../../drivers/web-request/web-request.ts'
import type { Message } from './message.ts'

/** A kind of channel, such as e-mail or Slack. One file per kind; the registry lists them. */
export interface ChannelKind<Config extends object = object, Secrets extends object = object> {
  readonly kind: string
  /** True for kinds in the spec; the others are extensions. */
  readonly documented: boolean
  /**
   * Splits the input into a config that is stored as it is and secrets that are sealed. With `previous` (a PATCH), a secret that
   * is absent or in its redacted form keeps its value.
   */
  checkConfig(input: unknown, settings: ChannelSettings, previous?: Stored<Config, Secrets>): CheckedConfig<Config, Secrets>
  /** The config as returned by the API, without secrets. */
  redact(config: Config, secrets: Secrets): Record<string, unknown>
  /** Whether both have the same destination: the channel then stays verified. */
  sameConfig(a: Stored<Config, Secrets>, b: Stored<Config, Secrets>): boolean
  /** Resolves once the receiver has accepted the message; rejects with DeliveryFailed, or with the abort reason. */
  deliver(message: Message, config: Config, secrets: Secrets, drivers: DeliveryDrivers, abort: AbortSignal): Promise<void>
}

export interface ChannelSettings {
  /** `host` or `host:port` required in chat URLs; default: the provider's own. */
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
  /** Base URL of the Telegram API; default: Telegram's own. */
  telegramApi?: string
}

/** A failed delivery. `reason` is shown to the owner of the channel: readable, and without secrets. */
export class DeliveryFailed extends Error {
  override readonly name = 'DeliveryFailed'
  readonly permanent: boolean
  readonly reason: string
  /** Pause before the next attempt, as requested by the receiver. */
  readonly retryAfterMs: number | undefined

  constructor(reason: string, { permanent, retryAfterMs }: { permanent: boolean; retryAfterMs?: number }) {
    super(reason)
    this.reason = reason
    this.permanent = permanent
    this.retryAfterMs = retryAfterMs
  }
}
