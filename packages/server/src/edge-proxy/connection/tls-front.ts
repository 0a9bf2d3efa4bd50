import type net from 'node:net'
import type { SecureContext, Server as TlsServer } from 'node:tls'
import type { EdgeCertificate } from '../protocol/edge-table.ts'
import { findCertificate } from '../protocol/find-certificate.ts'

const handshakeMs = 10_000

/** Terminates TLS. */
export interface TlsFront {
  startHandshake(socket: net.Socket): void
}

interface TlsFrontParts {
  certificates: () => ReadonlyMap<string, EdgeCertificate>
  onSecured: (socket: net.Socket) => void
  awaitCertificate: (hostname: string, resume: () => void) => boolean
}

/**
 * Finds the certificate of the requested host name in the current table. `onSecured` receives the socket after the handshake; if
 * the handshake fails, the socket is closed. `awaitCertificate` may delay the handshake of a name without a certificate: it
 * returns true and calls `resume` later. The TLS module is loaded only if https is served.
 * A client resumes its session with every front that has the same `ticketKeys` (48 bytes).
 */
export async function createTlsFront(
  ticketKeys: Buffer,
  { certificates, onSecured, awaitCertificate }: TlsFrontParts,
): Promise<TlsFront> {
  const tls = await import('node:tls')
  const contexts = new SecureContexts((pair) => tls.createSecureContext({ ...pair, minVersion: 'TLSv1.2' }))
  const server: TlsServer = tls.createServer({
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: handshakeMs,
    // The keys and the context of a session decide whether another worker resumes it.
    ticketKeys,
    sessionIdContext: 'berth-edge',
    SNICallback: (name, done) => {
      const hostname = name.toLowerCase()
      const answer = () => {
        const context = contexts.find(certificates(), hostname)
        if (context) done(null, context)
        else done(new Error(`no certificate for ${name}`))
      }
      if (contexts.find(certificates(), hostname) || !awaitCertificate(hostname, answer)) answer()
    },
  })
  server.on('secureConnection', onSecured)
  server.on('tlsClientError', (_, socket) => socket.destroy())
  return {
    startHandshake(socket) {
      socket.on('error', () => socket.destroy())
      server.emit('connection', socket)
    },
  }
}

/** Secure contexts by host name. A context is created at its first use, and again when its certificate changes. */
export class SecureContexts {
  readonly #create: (pair: EdgeCertificate) => SecureContext
  readonly #contexts = new Map<string, { pair: EdgeCertificate; context: SecureContext | undefined }>()

  constructor(create: (pair: EdgeCertificate) => SecureContext) {
    this.#create = create
  }

  find(certificates: ReadonlyMap<string, EdgeCertificate>, name: string): SecureContext | undefined {
    const entry = findCertificate(certificates, name)
    const pair = entry === undefined ? undefined : certificates.get(entry)
    if (!pair || entry === undefined) return undefined
    const cached = this.#contexts.get(entry)
    if (cached && cached.pair.cert === pair.cert && cached.pair.key === pair.key) return cached.context
    const context = this.#tryCreate(entry, pair)
    this.#contexts.set(entry, { pair, context })
    return context
  }

  /** An invalid pair of key and certificate affects only its own host name. */
  #tryCreate(entry: string, pair: EdgeCertificate): SecureContext | undefined {
    try {
      return this.#create(pair)
    } catch (cause) {
      console.error(`edge: certificate of ${entry} is invalid:`, cause instanceof Error ? cause.message : cause)
      return undefined
    }
  }
}
