import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { WebRequestFailed } from './failures.ts'
import { publicNames, type Resolve } from './resolve.ts'
import { startNameServer } from './test-name-server.ts'
import { startReceiver, testAuthority } from './test-receiver.ts'
import { canary, everythingIn, failureOf, post } from './test-request.ts'
import { createWebRequest } from './web-request.ts'

const onLoopback: Resolve = async () => ['127.0.0.1']

describe('TLS is verified by name', () => {
  test('the pinned address is contacted with its name in SNI and Host', async () => {
    await using receiver = await startReceiver(undefined, { tls: true })
    const trusting = createWebRequest({ allowPrivate: true, resolve: onLoopback, ca: testAuthority })
    await trusting.send(post(`https://hooks.berth.test:${receiver.port}/${canary}`))
    expect(receiver.received[0]).toMatchObject({
      servername: 'hooks.berth.test',
      headers: { host: `hooks.berth.test:${receiver.port}` },
    })
  })

  test.each([
    ['a certificate of an unknown authority', 'hooks.berth.test', undefined],
    ['a certificate for another name', 'other.berth.test', testAuthority],
    ['a certificate for a name, asked by address', '127.0.0.1', testAuthority],
  ])('%s is refused with a message', async (_, host, ca) => {
    await using receiver = await startReceiver(undefined, { tls: true })
    const request = createWebRequest({ allowPrivate: true, resolve: onLoopback, ...(ca ? { ca } : {}) })
    const failure = await failureOf(request.send(post(`https://${host}:${receiver.port}/${canary}`)))
    expect(failure).toMatchObject({ name: 'WebRequestFailed', reason: 'tls', message: expect.stringContaining('certificate') })
    expect(receiver.received).toEqual([])
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('a receiver without TLS at an https URL is reported', async () => {
    await using receiver = await startReceiver()
    const request = createWebRequest({ allowPrivate: true, resolve: onLoopback })
    const failure = await failureOf(request.send(post(`https://hooks.berth.test:${receiver.port}/`)))
    expect(failure).toMatchObject({ reason: 'tls', message: expect.stringContaining('does not support TLS') })
  })
})

describe('the time limit applies to', () => {
  const open = createWebRequest({ allowPrivate: true })
  const silent = () => {
    const server = createServer(() => {})
    return new Promise<{ port: number } & Disposable>((resolve) =>
      server.listen(0, '127.0.0.1', () =>
        resolve({ port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() }),
      ),
    )
  }

  test('a name server that does not answer', async () => {
    await using nameServer = await startNameServer(() => 'silence')
    const names = createWebRequest({ allowPrivate: false, resolve: publicNames([nameServer.address]) })
    const failure = await failureOf(names.send(post('http://hooks.test/', { timeoutMs: 100 })))
    expect(failure).toMatchObject({ reason: 'timed_out', message: 'hooks.test did not answer within 0.1 seconds' })
  })

  test('a resolver that never settles', async () => {
    const names = createWebRequest({ allowPrivate: true, resolve: () => new Promise(() => {}) })
    expect(await failureOf(names.send(post('http://hooks.test/', { timeoutMs: 50 })))).toMatchObject({ reason: 'timed_out' })
  })

  test.each(['http', 'https'])('a receiver that accepts and never answers over %s', async (scheme) => {
    using server = await silent()
    const failure = await failureOf(open.send(post(`${scheme}://127.0.0.1:${server.port}/${canary}`, { timeoutMs: 100 })))
    expect(failure).toMatchObject({ name: 'WebRequestFailed', reason: 'timed_out' })
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('a slow body: the status is returned, the rest is dropped at the time limit', async () => {
    await using receiver = await startReceiver((response) => {
      response.write('first')
      const drip = setInterval(() => response.write('.'), 10)
      response.on('close', () => clearInterval(drip))
    })
    const answer = await open.send(post(receiver.url, { timeoutMs: 200 }))
    expect(answer).toMatchObject({ status: 200, truncated: true, body: expect.stringMatching(/^first\.*$/) })
    await receiver.quiet()
  })

  test('an abort ends the request with the reason of the caller', async () => {
    using server = await silent()
    const abort = new AbortController()
    const sending = open.send(post(`http://127.0.0.1:${server.port}/`, { abort: abort.signal }))
    abort.abort(new Error('lease lost'))
    expect(await failureOf(sending)).toMatchObject({ message: 'lease lost' })
    expect(await failureOf(open.send(post('http://127.0.0.1/', { abort: abort.signal })))).toMatchObject({
      message: 'lease lost',
    })
  })
})

describe('the size of the response is limited', () => {
  const open = createWebRequest({ allowPrivate: true })

  test('an endless body is read up to the limit, and the connection is closed', async () => {
    await using receiver = await startReceiver((response) => {
      const more = () => {
        while (response.write('x'.repeat(16_384)));
      }
      response.on('drain', more)
      more()
    })
    const answer = await open.send(post(receiver.url, { maxResponseBytes: 1_000 }))
    expect(answer).toMatchObject({ status: 200, truncated: true })
    expect(answer.body).toHaveLength(1_000)
    await receiver.quiet()
  })

  test('a body of exactly the limit is complete', async () => {
    await using receiver = await startReceiver((response) => response.end('12345'))
    expect(await open.send(post(receiver.url, { maxResponseBytes: 5 }))).toMatchObject({ body: '12345', truncated: false })
    expect(await open.send(post(receiver.url, { maxResponseBytes: 4 }))).toMatchObject({ body: '1234', truncated: true })
  })

  test('endless headers are an error', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.write(`HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(200_000)}`)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const failure = await failureOf(open.send(post(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)))
      expect(failure).toMatchObject({ reason: 'bad_answer' })
    } finally {
      server.close()
    }
  })
})

describe('a failure never contains the secret of the URL', () => {
  const serveOnce = async (bytes: string | null) => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      bytes === null ? socket.destroy() : socket.end(bytes)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() }
  }
  const open = createWebRequest({ allowPrivate: true })
  const secretUrl = (port: number) => `http://127.0.0.1:${port}/${canary}?key=${canary}#${canary}`

  test('connection refused', async () => {
    const receiver = await startReceiver()
    await receiver[Symbol.asyncDispose]()
    const failure = await failureOf(open.send(post(secretUrl(receiver.port))))
    expect(failure).toMatchObject({ reason: 'connection_refused', code: 'ECONNREFUSED' })
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test.each([
    ['the connection is closed', null, 'connection_lost'],
    ['the answer is not HTTP', 'SSH-2.0-OpenSSH\r\n', 'bad_answer'],
    [
      'the answer is another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
      'connection_lost',
    ],
  ])('%s', async (_, bytes, reason) => {
    using server = await serveOnce(bytes)
    const failure = await failureOf(open.send(post(secretUrl(server.port))))
    expect(failure).toBeInstanceOf(WebRequestFailed)
    expect(failure).toMatchObject({ reason })
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('a name that does not exist', async () => {
    await using nameServer = await startNameServer(() => 'unknown')
    const names = createWebRequest({ allowPrivate: false, resolve: publicNames([nameServer.address]) })
    const failure = await failureOf(names.send(post(`http://nowhere.test/${canary}`)))
    expect(failure).toMatchObject({ reason: 'name_not_found', message: 'No address was found for the host name nowhere.test' })
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('a name without an address', async () => {
    await using nameServer = await startNameServer(() => [])
    const names = createWebRequest({ allowPrivate: false, resolve: publicNames([nameServer.address]) })
    expect(await failureOf(names.send(post('http://empty.test/')))).toMatchObject({ reason: 'name_not_found' })
  })

  test.each([
    [204, 'ok'],
    [404, 'refused'],
    [503, 'broken'],
  ])('status %i is returned: %s', async (status, outcome) => {
    await using receiver = await startReceiver((response) => response.writeHead(status, { 'retry-after': '7' }).end())
    expect(await open.send(post(receiver.url))).toMatchObject({ status, outcome, headers: { 'retry-after': '7' } })
  })
})
