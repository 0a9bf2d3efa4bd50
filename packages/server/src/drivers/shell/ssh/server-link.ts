import type { Duplex } from 'node:stream'
import type { ServerFiles } from './server-files.ts'
import type { SshTargets } from './ssh-target.ts'

/**
 * One server over one kept SSH connection. It is made when somebody needs it, kept alive, made anew after it was lost and
 * closed when nobody used it for a while. Every call has a deadline of its own beside the caller's abort, and rejects with
 * `ServerAway`, which tells why in words. While a server is known to be away calls reject at once, but for the one now and
 * then that tries again.
 */
export interface ServerLink {
  /** A stream to the API of the server's Docker engine. Whoever opens it destroys it. */
  toDocker(abort: AbortSignal): Promise<Duplex>
  /** A stream to a port on the server's own loopback, or at an address that the server reaches. */
  toPort(port: number, abort: AbortSignal, host?: string): Promise<Duplex>
  /** Reads files, within bounds. */
  readonly files: ServerFiles
  /** How often the connection was lost while it was in use, or could not be made: one that is higher than before was cut meanwhile. */
  losses(): number
  /** The next call tries at once, however short a time ago the last one failed. */
  retry(): void
}

export interface ServerLinks {
  /** Connects to nobody: that is done by what is asked of it. */
  for(serverId: string): ServerLink
  /** Who knows the servers; set once, before the first use. */
  readFrom(targets: SshTargets): void
  /** Every server that is known. */
  ids(): Promise<string[]>
  /** A server was changed or removed: what was opened with the old settings is closed. */
  drop(serverId: string): void
  /** SSH connections that are open now. */
  openConnections(): number
  /** A server answers again after it was away. */
  onBack(listener: (serverId: string) => void): () => void
  close(): Promise<void>
}
