import { X509Certificate } from 'node:crypto'
import { connect, type DetailedPeerCertificate } from 'node:tls'

/** A certificate as a client of the edge sees it. */
export interface ServedCertificate {
  fingerprint256: string
  expiresAt: Date
  /** Why a client would reject the chain that was sent; null: every certificate is signed by the next one. */
  chainProblem: string | null
  /** Why this machine does not trust the root; null: it does. */
  trustProblem: string | null
}

/** Connects by SNI and returns the certificate that is served. Rejects if the handshake fails. */
export type TlsProbe = (
  address: { host: string; port: number },
  hostname: string,
  abort: AbortSignal,
) => Promise<ServedCertificate>

const probeTimeoutMs = 10_000

export const probeTls: TlsProbe = ({ host, port }, servername, abort) =>
  new Promise((resolve, reject) => {
    // The certificate is validated here, so that a problem is described instead of only failing the connection.
    const socket = connect({ host: reachableHost(host), port, servername, rejectUnauthorized: false, timeout: probeTimeoutMs })
    const onAbort = () => socket.destroy(new Error('the check was aborted'))
    abort.addEventListener('abort', onAbort, { once: true })
    socket.on('timeout', () => socket.destroy(new Error(`no answer within ${probeTimeoutMs / 1000} seconds`)))
    socket.on('error', reject)
    socket.on('close', () => {
      abort.removeEventListener('abort', onAbort)
      reject(new Error('the connection was closed during the handshake'))
    })
    socket.on('secureConnect', () => {
      const chain = chainOf(socket.getPeerCertificate(true))
      const [leaf] = chain
      const error = socket.authorizationError as unknown
      if (leaf)
        resolve({
          fingerprint256: leaf.fingerprint256,
          expiresAt: leaf.validToDate,
          chainProblem: chainProblem(chain),
          trustProblem: socket.authorized ? null : String((error as Error)?.message ?? error),
        })
      else reject(new Error('no certificate was sent'))
      socket.destroy()
    })
  })

const maxChainLength = 10

/** The certificates that the server sent, leaf first. */
function chainOf(leaf: DetailedPeerCertificate): X509Certificate[] {
  const chain: X509Certificate[] = []
  for (
    let one: DetailedPeerCertificate | undefined = leaf;
    one?.raw && chain.length < maxChainLength;
    one = one.issuerCertificate
  ) {
    chain.push(new X509Certificate(one.raw))
    if (one.issuerCertificate === one) break
  }
  return chain
}

function chainProblem(chain: readonly X509Certificate[]): string | null {
  if (chain.length === 1 && !isSelfSigned(chain[0]!)) return 'the intermediate certificate is not sent'
  const broken = chain.findIndex((one, at) => chain[at + 1] !== undefined && !isIssuedBy(one, chain[at + 1]!))
  return broken === -1 ? null : `certificate ${broken + 1} of the chain is not signed by the next one`
}

const isIssuedBy = (one: X509Certificate, issuer: X509Certificate) => one.checkIssued(issuer) && one.verify(issuer.publicKey)
const isSelfSigned = (one: X509Certificate) => isIssuedBy(one, one)

/** An address to reach a listener on all addresses. */
const reachableHost = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host)
