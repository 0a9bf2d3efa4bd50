/** Reasons why a server, or its Docker engine, cannot be used. */
export type UnreachableReason =
  | 'unreachable'
  | 'host_key_changed'
  | 'login_refused'
  | 'address_refused'
  | 'docker_not_running'
  | 'docker_denied'
  | 'unknown_server'

/** The server cannot be used now; the message says why and what to do. */
export class ServerUnreachable extends Error {
  override readonly name = 'ServerUnreachable'
  readonly reason: UnreachableReason

  constructor(reason: UnreachableReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
