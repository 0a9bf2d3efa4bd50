import type { Secret } from '../../../platform/secrets/secret.ts'

/** A server as SSH reaches it. */
export interface SshTarget {
  /** For messages. */
  name: string
  host: string
  port: number
  user: string
  credential: { privateKey: Secret } | { password: Secret } | null
  /** Where its Docker engine listens, on the server. */
  dockerSocket: string
  /** The kind of the key that is pinned, which is asked for first: a host may have several. */
  hostKeyType: string | null
  /** One address of the host, judged: rejects with `ServerAway` when this server may not be there. */
  resolve(abort: AbortSignal): Promise<string>
  /** Before any credential is sent. Null when it is the host's pinned key or is pinned by this; else why not, in words. */
  acceptHostKey(key: HostKey): Promise<string | null>
}

export interface HostKey {
  /** As `ssh-keygen -l` writes it: `SHA256:…`. */
  fingerprint: string
  type: string
}

/** Who knows the servers; the drivers below know none by themselves. */
export interface SshTargets {
  /** Undefined when there is no such server. */
  find(serverId: string): Promise<SshTarget | undefined>
  ids(): Promise<string[]>
}
