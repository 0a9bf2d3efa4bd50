import { describe, expect, test } from 'vitest'
import { chunked, parseResponseHead, untilClose } from './response-head.ts'

const read = (method: string, ...lines: string[]) => parseResponseHead(`${lines.join('\r\n')}\r\n`, method)

describe('a response head', () => {
  test('keeps its headers without hop-by-hop ones', () => {
    const head = read(
      'GET',
      'HTTP/1.1 200 OK',
      'A: 1',
      'Connection: keep-alive, X-Hop',
      'X-Hop: 1',
      'Keep-Alive: timeout=5',
      'Content-Length: 3',
      'B: 2',
    )
    expect(head).toMatchObject({ status: 200, statusLine: '200 OK', body: 3, keepAlive: true, keepAliveMs: 5_000 })
    expect(head).toMatchObject({ forwardedLines: 'A: 1\r\nB: 2\r\n', contentLength: 3 })
  })

  test.each([
    ['a length', 'GET', ['HTTP/1.1 200 OK', 'Content-Length: 7'], 7],
    ['chunks', 'GET', ['HTTP/1.1 200 OK', 'Transfer-Encoding: chunked'], chunked],
    ['neither', 'GET', ['HTTP/1.1 200 OK'], untilClose],
    ['a length in answer to HEAD', 'HEAD', ['HTTP/1.1 200 OK', 'Content-Length: 7'], 0],
    ['204', 'GET', ['HTTP/1.1 204 No Content'], 0],
    ['304 with a length', 'GET', ['HTTP/1.1 304 Not Modified', 'Content-Length: 7'], 0],
    ['100', 'POST', ['HTTP/1.1 100 Continue'], 0],
  ])('with %s has the expected end', (_, method, lines, body) => {
    expect(read(method, ...lines)?.body).toBe(body)
  })

  test('of HTTP/1.0 is not kept alive unless it asks for it', () => {
    expect(read('GET', 'HTTP/1.0 200 OK')?.keepAlive).toBe(false)
    expect(read('GET', 'HTTP/1.0 200 OK', 'Connection: keep-alive')?.keepAlive).toBe(true)
    expect(read('GET', 'HTTP/1.1 200 OK', 'connection: Close')?.keepAlive).toBe(false)
  })

  test('without a reason phrase is accepted', () => {
    expect(read('GET', 'HTTP/1.1 200')?.statusLine).toBe('200 ')
    expect(read('GET', 'HTTP/1.1 200 ')?.status).toBe(200)
  })

  test.each([
    [['HTTP/1.1 200 OK', 'Content-Length: 3', 'Transfer-Encoding: chunked']],
    [['HTTP/1.1 200 OK', 'Content-Length: 3', 'Content-Length: 4']],
    [['HTTP/1.1 200 OK', 'Content-Length: x']],
    [['HTTP/1.1 200 OK', 'Content-Length: 3\xa0']],
    [['HTTP/1.1 200 OK', 'Transfer-Encoding: chunked\xa0']],
    [['HTTP/1.1 200 OK', 'Transfer-Encoding: gzip']],
    [['HTTP/2 200 OK']],
    [['HTTP/1.1 20 OK']],
    [['HTTP/1.1 200 OK', 'no colon']],
    [['HTTP/1.1 200 OK', 'A: b\nC: d']],
  ])('that is ambiguous is refused: %s', (lines) => {
    expect(read('GET', ...lines)).toBeUndefined()
  })
})
