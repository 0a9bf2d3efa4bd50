import { connect } from 'node:net'
import { errors } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { makePeople } from './kit/people.ts'

/**
 * Requests that never reach a row are answered in the same error shape. Over real connections: Node itself rejects many of them.
 */
let instance: TestInstance
let port: number
let token: string
beforeAll(async () => {
  instance = await startInstance()
  token = (await makePeople(instance)).owner.token
  port = Number(new URL(await instance.app.listen({ host: '127.0.0.1', port: 0 })).port)
})
afterAll(() => instance.stop())

/** Sends raw bytes and reads until the other side closes. */
function exchange(text: string): Promise<{ status: number; headers: string; body: string }> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => {
      const [headers = '', body = ''] = answer.split('\r\n\r\n', 2)
      resolve({ status: Number(headers.split(' ')[1]), headers: headers.toLowerCase(), body })
    })
  })
}

const get = (path: string, more = '') =>
  exchange(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n${more}\r\n`)
const send = (method: string, path: string, more = '') =>
  exchange(`${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n${more}\r\n`)

const cases: Record<string, [status: number, ask: () => Promise<{ status: number; headers: string; body: string }>]> = {
  'a percent sign that begins no escape': [404, () => get('/api/projects/%')],
  'half an escape': [404, () => get('/api/projects/%4')],
  'an escape that is not UTF-8': [404, () => get('/api/projects/%ff%fe')],
  'the same outside of /api': [404, () => get('/%')],
  'the same in a longer path': [404, () => get('/api/projects/%zz/env')],
  'a part of the path that is too long': [404, () => get(`/api/projects/${'x'.repeat(300)}`)],
  'an address that is too long': [431, () => get(`/api/projects?q=${'x'.repeat(20_000)}`)],
  'headers that are too long': [431, () => get('/api/projects', `x-long: ${'x'.repeat(20_000)}\r\n`)],
  'a header without a colon': [400, () => get('/api/projects', 'no colon here\r\n')],
  'a header with a NUL': [400, () => get('/api/projects', 'x-nul: a\0b\r\n')],
  'what is not HTTP': [400, () => exchange('hello\r\n\r\n')],
  'two lengths': [400, () => send('POST', '/api/projects', 'content-length: 1\r\ncontent-length: 2\r\n')],
  'no Host': [400, () => exchange('GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n')],
  'an unsupported expectation': [417, () => get('/api/projects', 'expect: the-impossible\r\n')],
  'a method that no route has': [404, () => send('PUT', '/api/projects')],
  OPTIONS: [404, () => send('OPTIONS', '/api/projects')],
  TRACE: [404, () => send('TRACE', '/api/projects')],
  'a method that does not exist': [400, () => send('NONSENSE', '/api/projects')],
  'a path outside of /api': [404, () => get('/nothing/here')],
  '/api itself': [404, () => get('/api')],
}

test.each(Object.entries(cases))('%s', async (_, [expected, request]) => {
  const { status, headers, body } = await request()
  const answer = JSON.parse(body)
  expect(status).toBe(expected)
  expect(Object.keys(errors)).toContain(answer.code)
  expect(typeof answer.error).toBe('string')
  expect(headers).toMatch(/x-request-id: \S{16,}/)
  expect(headers).toContain('content-type: application/json')
})

test('HEAD returns the headers of GET and no body', async () => {
  for (const [path, expected] of [
    ['/api/health', 200],
    ['/api/projects', 200],
    ['/api/projects/%', 404],
    ['/api/nothing', 404],
  ] as const) {
    const { status, headers, body } = await send('HEAD', path)
    expect([path, status, body]).toEqual([path, expected, ''])
    expect(headers).toMatch(/x-request-id: \S{16,}/)
  }
})
