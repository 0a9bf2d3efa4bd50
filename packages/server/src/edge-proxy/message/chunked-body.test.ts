import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ChunkedBody } from './chunked-body.ts'

function decode(text: string, pieceBytes = Number.POSITIVE_INFINITY) {
  const whole = Buffer.from(text, 'latin1')
  const parts: string[] = []
  const body = new ChunkedBody((bytes) => parts.push(bytes.toString('latin1')))
  for (let at = 0; at < whole.length && !body.done; at += pieceBytes) {
    const piece = whole.subarray(at, at + pieceBytes)
    const taken = body.feed(piece, 0)
    if (taken === -1) return 'malformed'
    if (body.done) return { data: parts.join(''), rest: whole.toString('latin1', at + taken) }
  }
  return 'unfinished'
}

describe('a chunked body', () => {
  test('is decoded, and bytes after it are kept', () => {
    expect(decode('3\r\nabc\r\n0\r\n\r\nGET /')).toEqual({ data: 'abc', rest: 'GET /' })
    expect(decode('A;x="y"\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n')).toEqual({ data: '0123456789', rest: '' })
  })

  test('is incomplete before its last line', () => {
    for (const text of ['3\r\nabc\r\n0\r\n', '3\r\nabc\r\n', '3\r\nab', '3\r', '', '0\r\n\r'])
      expect(decode(text)).toBe('unfinished')
  })

  test.each([
    '3\nabc\r\n',
    '3 \r\nabc',
    '-3\r\n',
    '0x3\r\n',
    '\r\n',
    'g\r\n',
    '3\r\nabcd',
    '3\r\nabc\n0',
    '3\r\nabc\r\r\n',
    '3;\0\r\n',
    '1234567890abc\r\n',
    '0\r\n\n',
  ])('that is invalid is refused: %j', (text) => {
    expect(decode(text)).toBe('malformed')
  })

  test('with too long extensions or trailers is refused', () => {
    expect(decode(`3;${'x'.repeat(20_000)}\r\n`)).toBe('malformed')
    expect(decode(`0\r\nA: ${'x'.repeat(20_000)}\r\n`)).toBe('malformed')
  })

  test('is decoded the same for any split into chunks of input', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' })),
        fc.integer({ min: 1, max: 9 }),
        (chunks, piece) => {
          const text = `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`
          expect(decode(`${text}next`, piece)).toEqual({ data: chunks.join(''), rest: 'next' })
        },
      ),
    )
  })
})
