import type net from 'node:net'
import type { SecureContext, Server as TlsServer } from 'node:tls'
import type { EdgeCertificate } from '../protocol/edge-table.ts'
import { findCertificate } from '../protocol/find-certificate.ts'

const handshakeMs = 10_000

/** Ends TLS. */
export interface TlsFront {
  greet(socket: net.Socket): void
}

/**
 * Finds the certificate of the name a client asks for in the table that is in force. `onSecured` gets the socket when the
 * handshake is over; a failed one is closed. `awaitCertificate` may delay the handshake of a name without a certificate: it returns
 * true and calls `resume` later. TLS is loaded only where https is served.
 */
export async function createTlsFront(
  certificates: () => ReadonlyMap<string, EdgeCertificate>,
  onSecured: (socket: net.Socket) => void,
  awaitCertificate: (hostname: string, resume: () => void) => boolean,
): Promise<TlsFront> {
  const tls = await import('node:tls')
  const contexts = new SecureContexts((pair) => tls.createSecureContext({ ...pair, minVersion: 'TLSv1.2' }))
  const server: TlsServer = tls.createServer({
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: handshakeMs,
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
    greet(socket) {
      socket.on('error', () => socket.destroy())
      server.emit('connection', socket)
    },
  }
}

/** Secure contexts by name, made when first asked for and again when the certificate in the table is another one. */
export class SecureContexts {
  readonly #create: (pair: EdgeCertificate) => SecureContext
  readonly #made = new Map<string, { pair: EdgeCertificate; context: SecureContext | undefined }>()

  constructor(create: (pair: EdgeCertificate) => SecureContext) {
    this.#create = create
  }

  find(certificates: ReadonlyMap<string, EdgeCertificate>, name: string): SecureContext | undefined {
    const entry = findCertificate(certificates, name)
    const pair = entry === undefined ? undefined : certificates.get(entry)
    if (!pair || entry === undefined) return undefined
    const made = this.#made.get(entry)
    if (made && made.pair.cert === pair.cert && made.pair.key === pair.key) return made.context
    const context = this.#attempt(entry, pair)
    this.#made.set(entry, { pair, context })
    return context
  }

  /** A pair that does not fit together makes that name unreachable, not the edge. */
  #attempt(entry: string, pair: EdgeCertificate): SecureContext | undefined {
    try {
      return this.#create(pair)
    } catch (cause) {
      console.error(`edge: certificate of ${entry} is invalid:`, cause instanceof Error ? cause.message : cause)
      return undefined
    }
  }
}
