/** Why a server, or the Docker on it, cannot be used. */
export type AwayReason =
  | 'unreachable'
  | 'host_key_changed'
  | 'login_refused'
  | 'address_refused'
  | 'docker_not_running'
  | 'docker_denied'
  | 'unknown_server'

/** There is no talking to a server now; the message says why and what to do. */
export class ServerAway extends Error {
  override readonly name = 'ServerAway'
  readonly reason: AwayReason

  constructor(reason: AwayReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
