import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'

export interface SecureAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** Subject names and serial of the certificate. */
  names: string
  serial: string
}

export interface SecureRequest {
  path?: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** Sends an HTTPS request for `hostname` to the edge on loopback, without DNS. Trusts only the certificate authority in `root`. */
export function getSecurely(port: number, hostname: string, root: string, more: SecureRequest = {}): Promise<SecureAnswer> {
  const { path = '/', method = 'GET', headers = {}, body } = more
  return new Promise((resolve, reject) => {
    const target = { host: '127.0.0.1', port, servername: hostname, ca: root, agent: false, path, method }
    request({ ...target, headers: { host: `${hostname}:${port}`, ...headers } }, async (response) => {
      const { subjectAltName = '', serialNumber } = (response.socket as TLSSocket).getPeerX509Certificate()!
      const status = response.statusCode ?? 0
      resolve({ status, headers: response.headers, text: await text(response), names: subjectAltName, serial: serialNumber })
    })
      .on('error', reject)
      .end(body)
  })
}
