import { describe, expect, test } from 'vitest'
import { HeadFault, headerValue, parseRequestHead, type RequestHead } from './request-head.ts'

const read = (...lines: string[]) => parseRequestHead(`${lines.join('\r\n')}\r\n`)
const good = (...lines: string[]): RequestHead => {
  const head = read(...lines)
  if (head instanceof HeadFault) throw new Error(`refused: ${head.reason}`)
  return head
}
const statusOf = (...lines: string[]) => {
  const head = read(...lines)
  return head instanceof HeadFault ? head.status : 200
}

describe('a request head', () => {
  test('is parsed into method, target, host and the headers to forward', () => {
    const head = good('GET /a?b=1 HTTP/1.1', 'Host: App.Example.com:4080', 'Accept: */*', 'User-Agent: curl/8', 'Cookie: a=b')
    expect(head).toMatchObject({ method: 'GET', target: '/a?b=1', host: 'app.example.com', minor: 1, keepAlive: true })
    expect(head.hostHeader).toBe('App.Example.com:4080')
    expect(head.userAgent).toBe('curl/8')
    expect(head.forwardedLines).toBe('Accept: */*\r\nUser-Agent: curl/8\r\nCookie: a=b\r\n')
  })

  test('is stripped of hop-by-hop headers, also those named in Connection', () => {
    const head = good(
      'GET / HTTP/1.1',
      'Host: a',
      'Connection: close, X-Secret-Hop',
      'X-Secret-Hop: 1',
      'Keep-Alive: timeout=5',
      'Proxy-Connection: keep-alive',
      'Proxy-Authorization: Basic x',
      'TE: trailers',
      'X-Kept: yes',
    )
    expect(head.forwardedLines).toBe('X-Kept: yes\r\n')
    expect(head.keepAlive).toBe(false)
  })

  test('keeps Content-Length even when Connection names it', () => {
    const head = good('POST / HTTP/1.1', 'Host: a', 'Content-Length: 3', 'Connection: content-length, host')
    expect(head).toMatchObject({ forwardedLines: '', contentLength: 3 })
    expect(head.body).toEqual({ kind: 'sized', length: 3 })
  })

  test('is stripped of forwarding headers, in any spelling', () => {
    const head = good(
      'GET / HTTP/1.1',
      'Host: a',
      'X-Forwarded-For: 1.1.1.1',
      'x_forwarded_for: 1.1.1.1',
      'X-Real-IP: 1.1.1.1',
      'Forwarded: for=1.1.1.1',
    )
    expect(head.forwardedLines).toBe('')
    expect(head.trustedLines).toBe('X-Real-IP: 1.1.1.1\r\nForwarded: for=1.1.1.1\r\n')
    expect(head.forwardedFor).toBe('1.1.1.1')
  })

  test('in absolute form takes its host from the target', () => {
    expect(good('GET http://b.example/x?y HTTP/1.1', 'Host: a')).toMatchObject({
      host: 'b.example',
      target: '/x?y',
      hostHeader: 'b.example',
    })
    expect(good('GET http://b.example?y HTTP/1.1', 'Host: a').target).toBe('/?y')
  })

  test('of HTTP/1.0 closes the connection unless it asks for keep-alive', () => {
    expect(good('GET / HTTP/1.0').keepAlive).toBe(false)
    expect(good('GET / HTTP/1.0', 'Host: a', 'Connection: keep-alive').keepAlive).toBe(true)
  })

  test('requests an upgrade only if Connection names Upgrade, and never for h2c', () => {
    expect(good('GET / HTTP/1.1', 'Host: a', 'Connection: keep-alive, Upgrade', 'Upgrade: websocket').upgrade).toBe('websocket')
    expect(good('GET / HTTP/1.1', 'Host: a', 'Upgrade: websocket').upgrade).toBe('')
    expect(
      good('GET / HTTP/1.1', 'Host: a', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: x').upgrade,
    ).toBe('')
  })

  test('returns other headers on demand, with lists joined', () => {
    const head = good('GET / HTTP/1.1', 'Host: a', 'Accept: text/html', 'accept: */*')
    expect(headerValue(head, 'accept')).toBe('text/html, */*')
    expect(headerValue(head, 'range')).toBeUndefined()
  })

  test('keeps a valid request id and drops any other', () => {
    expect(good('GET / HTTP/1.1', 'Host: a', 'X-Request-Id: abc-1').requestId).toBe('abc-1')
    expect(good('GET / HTTP/1.1', 'Host: a', 'X-Request-Id: a b"c').requestId).toBe('')
  })
})

describe('a request head is refused', () => {
  test.each([
    [
      'a body length beside a transfer encoding',
      400,
      ['POST / HTTP/1.1', 'Host: a', 'Content-Length: 3', 'Transfer-Encoding: chunked'],
    ],
    ['two body lengths that differ', 400, ['POST / HTTP/1.1', 'Host: a', 'Content-Length: 3', 'Content-Length: 4']],
    ['two body lengths that are the same', 400, ['POST / HTTP/1.1', 'Host: a', 'Content-Length: 3', 'Content-Length: 3']],
    ['a list of body lengths', 400, ['POST / HTTP/1.1', 'Host: a', 'Content-Length: 3, 3']],
    ['a signed body length', 400, ['POST / HTTP/1.1', 'Host: a', 'Content-Length: +3']],
    ['a hexadecimal body length', 400, ['POST / HTTP/1.1', 'Host: a', 'Content-Length: 0x3']],
    ['an empty body length', 400, ['POST / HTTP/1.1', 'Host: a', 'Content-Length:']],
    ['a body length without end', 400, ['POST / HTTP/1.1', 'Host: a', `Content-Length: ${'9'.repeat(30)}`]],
    ['chunked twice', 400, ['POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    ['chunked with something before it', 501, ['POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding: gzip, chunked']],
    ['chunked misspelt', 501, ['POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding: xchunked']],
    ['an empty transfer encoding', 501, ['POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding:']],
    ['chunked in HTTP/1.0', 400, ['POST / HTTP/1.0', 'Host: a', 'Transfer-Encoding: chunked']],
    ['a space before the colon', 400, ['POST / HTTP/1.1', 'Host: a', 'Content-Length : 3']],
    ['a tab before the colon', 400, ['POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding\t: chunked']],
    ['a folded line', 400, ['GET / HTTP/1.1', 'Host: a', 'X: 1', ' Content-Length: 3']],
    ['a line without a colon', 400, ['GET / HTTP/1.1', 'Host: a', 'nonsense']],
    ['a nameless header', 400, ['GET / HTTP/1.1', 'Host: a', ': x']],
    ['no Host', 400, ['GET / HTTP/1.1', 'Accept: */*']],
    ['two Hosts', 400, ['GET / HTTP/1.1', 'Host: a', 'Host: b']],
    ['a Host with a path', 400, ['GET / HTTP/1.1', 'Host: a/b']],
    ['a Host with credentials', 400, ['GET / HTTP/1.1', 'Host: u@a']],
    ['a Host with a port that is none', 400, ['GET / HTTP/1.1', 'Host: a:99999']],
    ['HTTP/2.0', 505, ['GET / HTTP/2.0', 'Host: a']],
    ['HTTP/0.9', 400, ['GET /']],
    ['a space in the target', 400, ['GET /a b HTTP/1.1', 'Host: a']],
    ['two spaces', 400, ['GET  / HTTP/1.1', 'Host: a']],
    ['a relative target', 400, ['GET a HTTP/1.1', 'Host: a']],
    ['an authority with credentials', 400, ['GET http://u:p@a/ HTTP/1.1', 'Host: a']],
    ['CONNECT', 405, ['CONNECT a:443 HTTP/1.1', 'Host: a']],
    ['TRACE', 405, ['TRACE / HTTP/1.1', 'Host: a']],
    ['an asterisk for anything but OPTIONS', 400, ['GET * HTTP/1.1', 'Host: a']],
    [
      'an upgrade with a body',
      400,
      ['GET / HTTP/1.1', 'Host: a', 'Connection: Upgrade', 'Upgrade: websocket', 'Content-Length: 1'],
    ],
  ])('for %s', (_, status, lines) => {
    expect(statusOf(...lines)).toBe(status)
  })

  test.each([
    ['a bare line feed', 'GET / HTTP/1.1\r\nHost: a\nX: 1\r\n'],
    ['a bare carriage return', 'GET / HTTP/1.1\r\nHost: a\rX: 1\r\n'],
    ['a NUL', 'GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n'],
    ['a vertical tab', 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\x0b3\r\n'],
    ['a line feed in the target', 'GET /\n HTTP/1.1\r\nHost: a\r\n'],
  ])('for %s', (_, text) => {
    expect(parseRequestHead(text)).toBeInstanceOf(HeadFault)
  })
})
