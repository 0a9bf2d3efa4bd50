import http from 'node:http'
import net from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HeadFault, parseRequestHead } from './request-head.ts'

/**
 * Node's own strict parser is the reference: it must see the same body length in every request that the edge accepts, or a server
 * behind the edge could see another request.
 */
let server: http.Server
let port: number
let heard: { method: string; framing: string } | undefined

beforeAll(async () => {
  server = http.createServer((request, response) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    heard = { method: request.method!, framing: encoding ?? (Number(length ?? 0) > 0 ? `sized ${Number(length)}` : 'none') }
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as net.AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

function evaluate(text: string): Promise<typeof heard> {
  heard = undefined
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
    socket.on('data', () => socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => resolve(heard))
  })
}

const names = [
  'Content-Length',
  'content-length',
  'Transfer-Encoding',
  'Host',
  'X-A',
  'Content-Length ',
  ' Transfer-Encoding',
  'Connection',
]
const values = [
  '0',
  '3',
  '03',
  '3, 3',
  '+3',
  '3\xa0',
  '\xa03',
  '3\x85',
  '-1',
  '0x3',
  'chunked',
  'Chunked',
  'chunked, chunked',
  'identity',
  '\tchunked',
  'chunked\x0b',
  'a',
  'close',
  '',
]
const addresses = ['\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n', '\r\n ']
const header = fc.tuple(
  fc.constantFrom(...names),
  fc.constantFrom(':', ': ', ':\t', ' :'),
  fc.constantFrom(...values),
  fc.constantFrom(...addresses),
)

test('a strict parser sees the same length for each accepted request', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(header, { maxLength: 4 }), async (headers) => {
      const lines = headers.map((parts) => parts.join('')).join('')
      const text = `POST / HTTP/1.1\r\nHost: a\r\n${lines}`
      const ours = parseRequestHead(text)
      fc.pre(!(ours instanceof HeadFault))
      const framing = ours.body.kind === 'sized' ? `sized ${ours.body.length}` : ours.body.kind
      const body = ours.body.kind === 'none' ? '' : ours.body.kind === 'chunked' ? '0\r\n\r\n' : 'x'.repeat(ours.body.length)
      // The edge forwards a head built from the parsed request, never the received text.
      const length = ours.contentLength >= 0 ? `content-length: ${ours.contentLength}\r\n` : ''
      const framed = ours.body.kind === 'chunked' ? 'transfer-encoding: chunked\r\n' : length
      const passedOn = `POST / HTTP/1.1\r\nhost: a\r\n${ours.forwardedLines}${framed}\r\n${body}`
      expect(await evaluate(passedOn)).toEqual({ method: 'POST', framing })
    }),
    { numRuns: 300 },
  )
})
