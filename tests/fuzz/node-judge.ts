import http from 'node:http'
import type net from 'node:net'
import { Duplex } from 'node:stream'

/** Node's own parser, as the reference for the meaning of the bytes. */
export interface ReadRequest {
  method: string
  target: string
  host: string
  body: string
}

export interface ReadResponse {
  status: number
  body: string
  /** True if the whole body was there. */
  complete: boolean
}

/** A connection without a network: written bytes are dropped. */
class Ends extends Duplex {
  override _read(): void {}
  override _write(_bytes: Buffer, _encoding: string, done: () => void): void {
    done()
  }
}

/** Complete requests in the bytes of one connection, up to the first that Node rejects or treats as an upgrade. */
export function requestsIn(bytes: Buffer): Promise<{ requests: ReadRequest[]; refused: boolean; upgraded: boolean }> {
  const requests: ReadRequest[] = []
  let refused = false
  let upgraded = false
  const server = http.createServer({ maxHeaderSize: 65_536, requireHostHeader: false }, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { method, url, headers } = request
      requests.push({ method: method!, target: url!, host: headers.host ?? '', body: Buffer.concat(parts).toString('latin1') })
      response.end()
    })
  })
  server.on('upgrade', (request) => {
    upgraded = true
    requests.push({ method: request.method!, target: request.url!, host: request.headers.host ?? '', body: '' })
  })
  // An unknown expectation is not forwarded by the edge.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  // Requests that were read before the error continue to their end.
  server.on('clientError', () => {
    refused = true
  })
  const ends = new Ends({ allowHalfOpen: true })
  ends.on('error', () => {})
  server.emit('connection', ends as unknown as net.Socket)
  ends.push(bytes)
  return settled(() => {
    ends.destroy()
    return { requests, refused, upgraded }
  })
}

/** The final response to a request of that method, as Node's client reads it; undefined if it rejects it. */
export function responseIn(bytes: Buffer, method: string): Promise<ReadResponse | undefined> {
  const ends = new Ends({ allowHalfOpen: true })
  ends.on('error', () => {})
  let read: ReadResponse | undefined
  let parts: Buffer[] = []
  const request = http.request({
    method,
    path: '/',
    createConnection: () => ends as unknown as net.Socket,
    maxHeaderSize: 131_072,
  })
  request.on('error', () => {})
  request.on('response', (response) => {
    const answer = { status: response.statusCode!, body: '', complete: false }
    read = answer
    parts = []
    response.on('data', (part: Buffer) => parts.push(part))
    response.on('error', () => {})
    response.on('end', () => {
      answer.complete = response.complete
    })
  })
  request.on('upgrade', (response) => {
    read = { status: response.statusCode!, body: '', complete: true }
  })
  request.end()
  ends.push(bytes)
  ends.push(null)
  return settled(() => {
    ends.destroy()
    if (read) read.body = Buffer.concat(parts).toString('latin1')
    return read
  })
}

/** Everything here happens within a few iterations of the event loop, without timers. */
async function settled<Value>(end: () => Value): Promise<Value> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  return end()
}
