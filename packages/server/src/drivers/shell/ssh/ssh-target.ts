import type { Secret } from '../../../platform/secrets/secret.ts'

/** A server as the target of SSH connections. */
export interface SshTarget {
  /** Name for messages. */
  name: string
  host: string
  port: number
  user: string
  credential: { privateKey: Secret } | { password: Secret } | null
  /** Path of the Docker engine's socket on the server. */
  dockerSocket: string
  /** Type of the pinned key, which is requested first: a host may have several keys. */
  hostKeyType: string | null
  /** Resolves the host to an allowed address; rejects with `ServerUnreachable` when this server may not use it. */
  resolve(abort: AbortSignal): Promise<string>
  /**
   * Called before any credential is sent. Null when the key is the pinned one, or is pinned by this call; else the reason for
   * the refusal.
   */
  acceptHostKey(key: HostKey): Promise<string | null>
}

export interface HostKey {
  /** Fingerprint as `ssh-keygen -l` prints it: `SHA256:…`. */
  fingerprint: string
  type: string
}

/** Source of the servers; the drivers store none themselves. */
export interface SshTargets {
  /** Undefined when the server does not exist. */
  find(serverId: string): Promise<SshTarget | undefined>
  ids(): Promise<string[]>
}
