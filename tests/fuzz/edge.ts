import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { pathToFileURL } from 'node:url'
import { ChunkedBody } from '../../packages/server/src/edge-proxy/message/chunked-body.ts'
import { HeadFault, parseRequestHead } from '../../packages/server/src/edge-proxy/message/request-head.ts'
import { parseResponseHead } from '../../packages/server/src/edge-proxy/message/response-head.ts'
import { PathReadings, rulePrefixes } from '../../packages/server/src/edge-proxy/routing/rule-path.ts'
import { EdgeInProcess } from './edge-in-process.ts'
import { path, requestHead, requestStream, response } from './edge-inputs.ts'
import { frameworks } from './frameworks.ts'
import { requestsIn, responseIn } from './node-judge.ts'
import { type Fuzzed, fuzzByHand } from './runner.ts'

/**
 * Tests the edge's parsers against Node's: whatever the edge accepts, Node must accept and read in the same way. Messages that Node
 * accepts and the edge rejects are not findings. Paths are checked against models of common frameworks.
 */
const bytesOf = (text: string) => Buffer.from(text, 'latin1')
const escaped = (line: string) => line.replaceAll(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)

const head: Fuzzed<string> = {
  name: 'request-head',
  make: requestHead,
  slowMs: 500,
  async check(text) {
    const ours = parseRequestHead(text)
    // Node knows a fixed list of methods; the edge forwards any token.
    if (ours instanceof HeadFault || !METHODS.includes(ours.method)) return
    const body =
      ours.body.kind === 'chunked' ? '0\r\n\r\n' : 'x'.repeat(ours.body.kind === 'sized' ? Math.min(ours.body.length, 1_000) : 0)
    if (ours.body.kind === 'sized' && ours.body.length > 1_000) return
    // Node rejects raw bytes in a target; the edge forwards them as escapes.
    const line = text.slice(0, text.indexOf('\r\n'))
    const verdict = await requestsIn(bytesOf(`${escaped(line)}${text.slice(line.length)}\r\n${body}`))
    assert.equal(verdict.requests.length, 1, 'Node does not read exactly one request')
    assert.equal(verdict.requests[0]!.method, ours.method)
    assert.equal(verdict.requests[0]!.body.length, ours.body.kind === 'sized' ? ours.body.length : 0)
    const target = verdict.requests[0]!.target
    if (target.startsWith('/') || target === '*') assert.equal(target, ours.target)
    else assert.ok(target.endsWith(ours.target) || ours.target === '/' || ours.target.startsWith('/?'), 'the target differs')
  },
}

const chunked: Fuzzed<string> = {
  name: 'chunked-body',
  make: (random) => {
    const text = requestStream(random)
    return text.slice(text.indexOf('\r\n\r\n') + 4)
  },
  slowMs: 500,
  async check(text) {
    const parts: Buffer[] = []
    const ours = new ChunkedBody((bytes) => parts.push(bytes))
    const bytes = bytesOf(text)
    const end = ours.feed(bytes, 0)
    const bytewise = new ChunkedBody()
    let at = 0
    while (at < bytes.length && !bytewise.done && bytewise.feed(bytes.subarray(at, at + 1), 0) !== -1) at += 1
    assert.equal(bytewise.done, ours.done, 'the end differs if the bytes arrive one by one')
    if (end === -1 || !ours.done) return
    const body = Buffer.concat(parts).toString('latin1')
    const framed = Buffer.concat([
      bytesOf('POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n'),
      bytes.subarray(0, end),
    ])
    const verdict = await requestsIn(framed)
    assert.deepEqual(
      verdict.requests.map((request) => request.body),
      [body],
    )
  },
}

const responseHead: Fuzzed<string> = {
  name: 'response-head',
  make: (random) => {
    const text = response(random)
    const end = text.indexOf('\r\n\r\n')
    return end === -1 ? `${text}\r\n` : text.slice(0, end + 2)
  },
  slowMs: 500,
  async check(text) {
    const ours = parseResponseHead(text, 'GET')
    if (!ours || ours.status < 200 || ours.body > 1_000) return
    const body = ours.body === -1 ? '0\r\n\r\n' : 'x'.repeat(Math.max(0, ours.body))
    const verdict = await responseIn(bytesOf(`${text}\r\n${body}`), 'GET')
    assert.ok(verdict, 'Node does not read a response')
    assert.deepEqual(verdict, { status: ours.status, body: ours.body === -1 ? '' : body, complete: true })
  },
}

let started: Promise<EdgeInProcess> | undefined
function edge(): Promise<EdgeInProcess> {
  started ??= (async () => {
    const one = new EdgeInProcess()
    await one.start()
    return one
  })()
  return started
}

export async function stopEdge(): Promise<void> {
  await (await started)?.stop()
  started = undefined
}

/** Equal to the sent body, or to its part of the text whose lines were escaped, including bytes of a body before a request. */
const isBody = (read: string, sent: string): boolean =>
  read === sent || (read.length === sent.length && escaped(sent).startsWith(read))

const requests: Fuzzed<string> = {
  name: 'requests-through',
  make: (random) => `${requestStream(random)}GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`,
  async check(text) {
    const { heard } = await (await edge()).exchange(bytesOf(text))
    const lines = text.replaceAll(/[^\r\n]* HTTP\/1/g, escaped)
    // The bytes of a body may be on the same line as the next request, where escaping would change them.
    const readings = [await requestsIn(bytesOf(lines)), await requestsIn(bytesOf(text))]
    const passed = []
    for (const bytes of heard.filter(({ length }) => length > 0)) {
      // Node knows a fixed list of methods; after an unknown one it reads nothing more.
      if (!METHODS.includes(bytes.toString('latin1').split(' ')[0]!)) break
      const one = await requestsIn(bytes)
      assert.equal(one.refused, false, `Node refuses what the edge sent: ${JSON.stringify(bytes.toString('latin1'))}`)
      assert.ok(one.requests.length <= 1, `the edge forwarded more than one request: ${JSON.stringify(bytes.toString('latin1'))}`)
      passed.push(...one.requests)
    }
    // After a message that Node rejects, including one with an unknown method, Node cannot decide what follows. The same holds
    // after an upgrade: one that the edge does not support is an ordinary request.
    if (readings.every(({ refused, upgraded }) => refused || upgraded)) return
    // If an upstream closes before it responds, the request is repeated, so the received requests may repeat.
    for (const { method, body } of passed) {
      const isMeant = ({ requests }: (typeof readings)[number]) =>
        requests.some((request) => request.method === method && isBody(request.body, body))
      assert.ok(readings.some(isMeant), `the client did not send ${method} with ${JSON.stringify(body)}`)
    }
  },
}

const answers: Fuzzed<string> = {
  name: 'answers-through',
  make: response,
  async check(text) {
    const { received } = await (await edge()).exchange(
      bytesOf('GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'),
      bytesOf(text),
    )
    const ours = await responseIn(received, 'GET')
    if (!ours?.complete || (ours.status === 502 && ours.body.includes('did not respond')) || ours.status === 504) return
    const verdict = await responseIn(bytesOf(text), 'GET')
    assert.deepEqual(ours, verdict && { ...verdict, complete: true })
  },
}

const prefixes = ['/admin', '/a/x', '/ADMIN/']
const paths: Fuzzed<string> = {
  name: 'rule-paths',
  make: path,
  slowMs: 500,
  check(target) {
    const readings = new PathReadings(target)
    for (const prefix of prefixes) {
      // A prefix covers whole segments.
      const folder = `${prefix.toLowerCase().replace(/\/+$/, '')}/`
      if (readings.below(rulePrefixes(prefix))) continue
      for (const [name, reading] of Object.entries(frameworks)) {
        const read = reading(target)?.toLowerCase()
        assert.ok(!`${read}/`.startsWith(folder), `${name} reads ${read} below ${prefix}`)
      }
    }
  },
}

const pathPieces = [
  '%20',
  '.',
  '%2e',
  '/',
  '%2f',
  '%25',
  ';',
  'x',
  '%09',
  '\\',
  '#',
  '//',
  '/..',
  '%00',
  '.php/',
  '%c0%ae',
  '%ff',
  '+',
  '/_next/data/',
]
/** Paths of the maximum head size, made of a few repeated pieces: each reading must take linear time. */
const longPaths: Fuzzed<string> = {
  name: 'long-rule-paths',
  make(random) {
    const parts = random.some(3, () =>
      random
        .some(3, () => random.pick(pathPieces))
        .join('')
        .repeat(1 + random.below(8_000)),
    )
    return `/${parts.join(random.pick(pathPieces))}`.slice(0, 60_000)
  },
  slowMs: 400,
  check(target) {
    new PathReadings(target).below(rulePrefixes('/admin'))
  },
}

export const edgeKinds: readonly Fuzzed[] = [head, chunked, responseHead, requests, answers, paths, longPaths]

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await fuzzByHand('edge', edgeKinds)
  await stopEdge()
}
