import type { Duplex } from 'node:stream'
import type { ServerFiles } from './server-files.ts'
import type { SshTargets } from './ssh-target.ts'

/**
 * A server over one shared SSH connection. It is opened on demand, kept alive, reopened after it was lost, and closed when
 * idle. Every call has its own timeout beside the caller's abort, and rejects with `ServerUnreachable`, whose message names the
 * reason. While a server is known to be unreachable, calls reject at once, except an occasional retry.
 */
export interface ServerLink {
  /** A stream to the API of the server's Docker engine. The caller must destroy it. */
  toDocker(abort: AbortSignal): Promise<Duplex>
  /** A stream to a port on the server's own loopback, or at an address that the server can reach. */
  toPort(port: number, abort: AbortSignal, host?: string): Promise<Duplex>
  /** Reads files, with size limits. */
  readonly files: ServerFiles
  /**
   * Number of times that the connection was lost during use or could not be opened: a higher number than before means an
   * interruption.
   */
  disconnects(): number
  /** Makes the next call connect at once, regardless of recent failures. */
  retry(): void
}

export interface ServerLinks {
  /** Returns the link without connecting; its calls connect. */
  for(serverId: string): ServerLink
  /** Sets the source of the servers; called once, before the first use. */
  readFrom(targets: SshTargets): void
  /** Ids of all known servers. */
  ids(): Promise<string[]>
  /** A server was changed or removed: connections of its old settings are closed. */
  drop(serverId: string): void
  /** Number of open SSH connections. */
  openConnections(): number
  /** Calls the listener when a server is reachable again. */
  onReconnect(listener: (serverId: string) => void): () => void
  close(): Promise<void>
}
