import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { reachOf } from './address-reach.ts'
import { WebRequestFailed, WebRequestRefused } from './failures.ts'
import { publicNames, type Resolve } from './resolve.ts'
import { startNameServer } from './test-name-server.ts'
import { startReceiver, testAuthority } from './test-receiver.ts'
import { createWebRequest, type OutgoingRequest } from './web-request.ts'

const canary = 'canary-7f3a9c'
const post = (url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest => ({ url, method: 'POST', body: '{}', ...more })
const failureOf = async (sending: Promise<unknown>): Promise<Error & { reason?: string }> =>
  sending.then(
    () => expect.unreachable('it was sent'),
    (error) => error,
  )
const everythingIn = (error: Error) => `${error.stack} ${JSON.stringify(error)} ${JSON.stringify(error.cause)} ${String(error)}`
const onLoopback: Resolve = async () => ['127.0.0.1']

describe('refused unless the instance allows it', () => {
  const closed = createWebRequest({ allowPrivate: false })
  const spellings = ['127.0.0.1', '2130706433', '0x7f000001', '017700000001', '0x7f.1', '127.1', '0177.0.0.1', '127.0.0.1.']
  const disguises = ['①②⑦.⓪.⓪.①', '[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]']
  const names = ['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', '0', '0.0.0.0']

  test.each([...spellings, ...disguises, ...names])('%s reaches loopback in no spelling', async (host) => {
    await using receiver = await startReceiver()
    const failure = await failureOf(closed.send(post(`http://${host}:${receiver.port}/${canary}`)))
    expect(failure).toBeInstanceOf(WebRequestRefused)
    expect(failure).toMatchObject({ reason: 'address' })
    expect(receiver.connections).toBe(0)
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('the same address is reached where the instance allows it', async () => {
    await using receiver = await startReceiver()
    const open = createWebRequest({ allowPrivate: true })
    const answer = await open.send(post(`http://0x7f.1:${receiver.port}/in?x=1`, { headers: { 'x-one': '1' }, body: 'hello' }))
    expect(answer).toMatchObject({ status: 200, outcome: 'ok', body: 'ok', truncated: false })
    expect(receiver.received).toMatchObject([{ method: 'POST', path: '/in?x=1', body: 'hello', headers: { 'x-one': '1' } }])
  })

  test('metadata services stay closed even where private networks are allowed', async () => {
    const open = createWebRequest({ allowPrivate: true, resolve: async () => ['169.254.169.254', 'fd00:ec2::254'] })
    expect(await failureOf(open.send(post('http://metadata.test/')))).toMatchObject({ reason: 'address' })
    expect(await failureOf(open.send(post('http://169.254.169.254/')))).toMatchObject({ reason: 'address' })
  })

  test('a name is refused when none of its addresses is acceptable, and may be tried again later', async () => {
    await using receiver = await startReceiver()
    const names = createWebRequest({ allowPrivate: false, resolve: async () => ['10.0.0.1', '127.0.0.1', 'fe80::1%eth0'] })
    const failure = await failureOf(names.send(post(`http://hooks.test:${receiver.port}/`)))
    expect(failure).toMatchObject({ reason: 'address', permanent: false })
    expect(failure.message).toContain('hooks.test')
    expect(failure.message).not.toContain('10.0.0.1')
    expect(receiver.connections).toBe(0)
  })

  test('of several addresses only the acceptable ones are connected to', async () => {
    await using inside = await startReceiver()
    await using outside = await startReceiver(undefined, { host: '127.0.0.2', port: inside.port })
    const judge = (address: string) => (address === '127.0.0.2' ? 'public' : reachOf(address))
    const names = createWebRequest({ allowPrivate: false, judge, resolve: async () => ['127.0.0.1', '127.0.0.2'] })
    await names.send(post(`http://hooks.test:${inside.port}/`))
    expect([inside.connections, outside.connections]).toEqual([0, 1])
  })
})

test('of several acceptable addresses the next one is tried when one does not answer', async () => {
  await using receiver = await startReceiver()
  const names = createWebRequest({ allowPrivate: true, resolve: async () => ['127.0.0.3', '::1', '127.0.0.1'] })
  expect(await names.send(post(`http://hooks.test:${receiver.port}/`))).toMatchObject({ status: 200 })
})

describe('a DNS name that changes its answer between check and use', () => {
  // 127.0.0.2 plays the public address, so that the proof needs no other machine.
  const judge = (address: string) => (address === '127.0.0.2' ? 'public' : reachOf(address))

  test('is resolved once, and the address of that answer is the one connected to', async () => {
    await using inside = await startReceiver()
    await using outside = await startReceiver(undefined, { host: '127.0.0.2', port: inside.port })
    let questions = 0
    const alternating: Resolve = async () => (questions++ % 2 === 0 ? ['127.0.0.2'] : ['127.0.0.1'])
    const rebinding = createWebRequest({ allowPrivate: false, judge, resolve: alternating })

    await rebinding.send(post(`http://rebind.test:${inside.port}/`))
    expect(questions).toBe(1)
    expect(await failureOf(rebinding.send(post(`http://rebind.test:${inside.port}/`)))).toBeInstanceOf(WebRequestRefused)
    expect([inside.connections, outside.connections]).toEqual([0, 1])
    expect(outside.received[0]?.headers.host).toBe(`rebind.test:${inside.port}`)
  })

  test('never gets through with a real name server that answers in turn, whichever answer comes first', async () => {
    await using inside = await startReceiver()
    await using outside = await startReceiver(undefined, { host: '127.0.0.2', port: inside.port })
    let questions = 0
    await using nameServer = await startNameServer(() => (questions++ % 2 === 0 ? ['127.0.0.2'] : ['127.0.0.1']))
    const rebinding = createWebRequest({ allowPrivate: false, judge, resolve: publicNames([nameServer.address]) })

    const sent = [1, 2, 3, 4].map(() => rebinding.send(post(`http://rebind.test:${inside.port}/`)))
    const outcomes = (await Promise.allSettled(sent)).map(({ status }) => status).sort()
    expect(outcomes).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected'])
    expect(nameServer.asked).toHaveLength(4)
    expect([inside.connections, outside.connections]).toEqual([0, 2])
  })
})

describe('what is not sent', () => {
  const open = createWebRequest({ allowPrivate: true })

  test.each([
    ['not a url', 'invalid_url'],
    [`ftp://example.com/${canary}`, 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    [`http://user:${canary}@127.0.0.1/`, 'credentials'],
    [`http://${canary}:@127.0.0.1/`, 'credentials'],
    [`http://[::1/${canary}`, 'invalid_url'],
  ])('%s is refused', async (url, reason) => {
    const failure = await failureOf(open.send(post(url)))
    expect(failure).toMatchObject({ name: 'WebRequestRefused', reason, permanent: true })
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('a redirect is told and never followed', async () => {
    await using target = await startReceiver()
    await using receiver = await startReceiver((response) =>
      response.writeHead(302, { location: `${target.url}/inside` }).end('moved'),
    )
    const answer = await open.send(post(receiver.url))
    expect(answer).toMatchObject({ status: 302, outcome: 'redirected', body: 'moved' })
    expect(target.connections).toBe(0)
  })

  test('no proxy of the environment is asked', async () => {
    await using proxy = await startReceiver()
    await using receiver = await startReceiver()
    const before = { ...process.env }
    try {
      for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']) process.env[name] = proxy.url
      process.env.NODE_USE_ENV_PROXY = '1'
      await createWebRequest({ allowPrivate: true }).send(post(receiver.url))
    } finally {
      process.env = before
    }
    expect([proxy.connections, receiver.connections]).toEqual([0, 1])
  })
})

describe('TLS is verified by name', () => {
  test('the pinned address is asked for under its name, in SNI and Host', async () => {
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
  ])('%s is refused, and says so', async (_, host, ca) => {
    await using receiver = await startReceiver(undefined, { tls: true })
    const request = createWebRequest({ allowPrivate: true, resolve: onLoopback, ...(ca ? { ca } : {}) })
    const failure = await failureOf(request.send(post(`https://${host}:${receiver.port}/${canary}`)))
    expect(failure).toMatchObject({ name: 'WebRequestFailed', reason: 'tls', message: expect.stringContaining('certificate') })
    expect(receiver.received).toEqual([])
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('a receiver without TLS under https says so', async () => {
    await using receiver = await startReceiver()
    const request = createWebRequest({ allowPrivate: true, resolve: onLoopback })
    const failure = await failureOf(request.send(post(`https://hooks.berth.test:${receiver.port}/`)))
    expect(failure).toMatchObject({ reason: 'tls', message: expect.stringContaining('does not speak TLS') })
  })
})

describe('the time limit is over everything', () => {
  const open = createWebRequest({ allowPrivate: true })
  const silent = () => {
    const server = createServer(() => {})
    return new Promise<{ port: number } & Disposable>((resolve) =>
      server.listen(0, '127.0.0.1', () =>
        resolve({ port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() }),
      ),
    )
  }

  test('a name server that keeps silent', async () => {
    await using nameServer = await startNameServer(() => 'silence')
    const names = createWebRequest({ allowPrivate: false, resolve: publicNames([nameServer.address]) })
    const failure = await failureOf(names.send(post('http://hooks.test/', { timeoutMs: 100 })))
    expect(failure).toMatchObject({ reason: 'timed_out', message: 'hooks.test did not answer within 0.1 seconds' })
  })

  test('a resolver that never settles', async () => {
    const names = createWebRequest({ allowPrivate: true, resolve: () => new Promise(() => {}) })
    expect(await failureOf(names.send(post('http://hooks.test/', { timeoutMs: 50 })))).toMatchObject({ reason: 'timed_out' })
  })

  test.each(['http', 'https'])('a receiver that accepts and says nothing over %s', async (scheme) => {
    using server = await silent()
    const failure = await failureOf(open.send(post(`${scheme}://127.0.0.1:${server.port}/${canary}`, { timeoutMs: 100 })))
    expect(failure).toMatchObject({ name: 'WebRequestFailed', reason: 'timed_out' })
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('a body that drips: the status counts, the rest is cut when the time is over', async () => {
    await using receiver = await startReceiver((response) => {
      response.write('first')
      const drip = setInterval(() => response.write('.'), 10)
      response.on('close', () => clearInterval(drip))
    })
    const answer = await open.send(post(receiver.url, { timeoutMs: 200 }))
    expect(answer).toMatchObject({ status: 200, truncated: true, body: expect.stringMatching(/^first\.*$/) })
    await receiver.quiet()
  })

  test("the caller's abort ends it with the caller's reason", async () => {
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

describe('the response is bounded', () => {
  const open = createWebRequest({ allowPrivate: true })

  test('an endless body is read up to the bound and the connection closed', async () => {
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

  test('a body of exactly the bound is whole', async () => {
    await using receiver = await startReceiver((response) => response.end('12345'))
    expect(await open.send(post(receiver.url, { maxResponseBytes: 5 }))).toMatchObject({ body: '12345', truncated: false })
    expect(await open.send(post(receiver.url, { maxResponseBytes: 4 }))).toMatchObject({ body: '1234', truncated: true })
  })

  test('endless headers are given up', async () => {
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

describe('a failure says what happened, in words, without the secret of the URL', () => {
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

  test('nothing listens', async () => {
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

  test('the name does not exist', async () => {
    await using nameServer = await startNameServer(() => 'unknown')
    const names = createWebRequest({ allowPrivate: false, resolve: publicNames([nameServer.address]) })
    const failure = await failureOf(names.send(post(`http://nowhere.test/${canary}`)))
    expect(failure).toMatchObject({ reason: 'name_not_found', message: 'No address is known for the name nowhere.test' })
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('the name has no address', async () => {
    await using nameServer = await startNameServer(() => [])
    const names = createWebRequest({ allowPrivate: false, resolve: publicNames([nameServer.address]) })
    expect(await failureOf(names.send(post('http://empty.test/')))).toMatchObject({ reason: 'name_not_found' })
  })

  test.each([
    [204, 'ok'],
    [404, 'refused'],
    [503, 'broken'],
  ])('status %i is an answer: %s', async (status, outcome) => {
    await using receiver = await startReceiver((response) => response.writeHead(status, { 'retry-after': '7' }).end())
    expect(await open.send(post(receiver.url))).toMatchObject({ status, outcome, headers: { 'retry-after': '7' } })
  })
})
