import type { Random } from './random.ts'

/** Requests and responses as attackers write them: mostly valid, with one or two deviations. */
const odd = [
  '\r\n',
  '\n',
  '\r',
  ' ',
  '\t',
  '\0',
  '\x0b',
  '\xa0',
  '\x85',
  '\x7f',
  ':',
  ',',
  ';',
  '"',
  '+',
  '-',
  '0',
  '9',
  'x',
  '%',
  '\\',
  '/',
  '#',
  '_',
  '\xff',
  '\r\n ',
  '\r\n\r\n',
]
const names = [
  'Content-Length',
  'content-length',
  'Transfer-Encoding',
  'Connection',
  'Host',
  'X-A',
  'Upgrade',
  'Expect',
  'TE',
  'Trailer',
  'X-Forwarded-For',
  'Content_Length',
  'Keep-Alive',
]
const values = [
  '0',
  '5',
  '05',
  '5, 5',
  '+5',
  '0x5',
  '5\xa0',
  'chunked',
  'Chunked',
  'identity',
  'gzip, chunked',
  'chunked, identity',
  'close',
  'keep-alive',
  'upgrade',
  'content-length',
  'transfer-encoding',
  'h',
  'websocket',
  '100-continue',
  '',
  'a b',
  '"q"',
]
const methods = ['GET', 'POST', 'PUT', 'HEAD', 'OPTIONS', 'DELETE', 'get', 'M-SEARCH', 'PURGE']
const targets = [
  '/',
  '/a/b?c=d',
  '*',
  'http://h/x',
  'http://h',
  '/%61',
  '/a#b',
  '//h/x',
  'h:80',
  '/\xe4',
  '/a\\b',
  '/"<>',
  '/^`{|}',
]

const header = (random: Random) => `${random.pick(names)}${random.pick([': ', ':', ':\t', ' : '])}${random.pick(values)}\r\n`

function chunks(random: Random): string {
  const sizes = ['5', '05', '5;x=y', '5;x="\\""', '5 ', 'A', '0', '0005', '5;', '5\t']
  const parts = random.some(3, () => (random.chance(0.8) ? '5\r\nhello\r\n' : `${random.pick(sizes)}\r\nhello\r\n`))
  const trailers = random.some(2, header).join('')
  return `${parts.join('')}0\r\n${random.chance(0.3) ? trailers : ''}\r\n`
}

function framed(random: Random, lines: string): string {
  const kind = random.below(4)
  if (kind === 0) return `${lines}\r\n`
  if (kind === 1) return `${lines}Content-Length: 5\r\n\r\nhello`
  if (kind === 2) return `${lines}Transfer-Encoding: chunked\r\n\r\n${chunks(random)}`
  return `${lines}${header(random)}\r\n${random.pick(['', 'hello', chunks(random)])}`
}

function request(random: Random): string {
  const version = random.chance(0.9) ? 'HTTP/1.1' : random.pick(['HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'http/1.1'])
  const host = random.chance(0.95) ? 'Host: h\r\n' : ''
  return framed(random, `${random.pick(methods)} ${random.pick(targets)} ${version}\r\n${host}${random.some(2, header).join('')}`)
}

/** The bytes of one connection: up to three requests and a last one that closes, possibly malformed somewhere. */
export function requestStream(random: Random): string {
  const text = random.some(2, request).join('') + request(random)
  return random.chance(0.7) ? random.mutated(text, odd) : text
}

export function requestHead(random: Random): string {
  const text = request(random)
  const head = random.chance(0.8) ? random.mutated(text, odd) : text
  const end = head.indexOf('\r\n\r\n')
  return end === -1 ? `${head}\r\n` : head.slice(0, end + 2)
}

export function response(random: Random): string {
  const status = random.pick([
    '200 OK',
    '200',
    '204 No Content',
    '304 Not Modified',
    '404 ',
    '500 \xe4',
    '099 x',
    '600 x',
    '1000 x',
    '200\tOK',
  ])
  const version = random.chance(0.9) ? 'HTTP/1.1' : random.pick(['HTTP/1.0', 'HTTP/1.2', 'HTTP/2', 'ICY'])
  const interim = random.chance(0.1)
    ? random.pick(['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n'])
    : ''
  const text = interim + framed(random, `${version} ${status}\r\n${random.some(2, header).join('')}`)
  return random.chance(0.7) ? random.mutated(text, odd) : text
}

const pieces = [
  '/',
  '//',
  '\\',
  '.',
  '..',
  'admin',
  'Admin',
  'a',
  'x',
  '%2e',
  '%2E%2e',
  '%2f',
  '%5c',
  '%61',
  '%2561',
  '%25',
  ';',
  ';a=b',
  '#',
  '?',
  '%3f',
  '%23',
  '%3b',
  '%00',
  '%20',
  '+',
  '.%20',
  '%c1%a1',
  '%c0%ae',
  '%ff',
  '\xff',
  '%ef%bd%81',
  'dmin',
  'min',
  '%u0061',
  '%09',
  '&',
  '=',
]

/** A path that a server may read as a path below /admin. */
export function path(random: Random): string {
  return `/${Array.from({ length: 1 + random.below(9) }, () => random.pick(pieces)).join('')}`
}
