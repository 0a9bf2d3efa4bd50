import { describe, expect, test } from 'vitest'
import { reachOf } from './address-reach.ts'
import { WebRequestRefused } from './failures.ts'
import { publicNames, type Resolve } from './resolve.ts'
import { startNameServer } from './test-name-server.ts'
import { startReceiver } from './test-receiver.ts'
import { canary, everythingIn, failureOf, post } from './test-request.ts'
import { createWebRequest } from './web-request.ts'

describe('refused unless the instance allows it', () => {
  const closed = createWebRequest({ allowPrivate: false })
  const spellings = ['127.0.0.1', '2130706433', '0x7f000001', '017700000001', '0x7f.1', '127.1', '0177.0.0.1', '127.0.0.1.']
  const disguises = ['①②⑦.⓪.⓪.①', '[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]']
  const names = ['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', '0', '0.0.0.0']

  test.each([...spellings, ...disguises, ...names])('%s does not reach loopback', async (host) => {
    await using receiver = await startReceiver()
    const failure = await failureOf(closed.send(post(`http://${host}:${receiver.port}/${canary}`)))
    expect(failure).toBeInstanceOf(WebRequestRefused)
    expect(failure).toMatchObject({ reason: 'address' })
    expect(receiver.connections).toBe(0)
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('the same address is reachable if the instance allows it', async () => {
    await using receiver = await startReceiver()
    const open = createWebRequest({ allowPrivate: true })
    const answer = await open.send(post(`http://0x7f.1:${receiver.port}/in?x=1`, { headers: { 'x-one': '1' }, body: 'hello' }))
    expect(answer).toMatchObject({ status: 200, outcome: 'ok', body: 'ok', truncated: false })
    expect(receiver.received).toMatchObject([{ method: 'POST', path: '/in?x=1', body: 'hello', headers: { 'x-one': '1' } }])
  })

  test('metadata services are refused even if private networks are allowed', async () => {
    const open = createWebRequest({ allowPrivate: true, resolve: async () => ['169.254.169.254', 'fd00:ec2::254'] })
    expect(await failureOf(open.send(post('http://metadata.test/')))).toMatchObject({ reason: 'address' })
    expect(await failureOf(open.send(post('http://169.254.169.254/')))).toMatchObject({ reason: 'address' })
  })

  test('a name without a permitted address is refused, and the refusal is not permanent', async () => {
    await using receiver = await startReceiver()
    const names = createWebRequest({ allowPrivate: false, resolve: async () => ['10.0.0.1', '127.0.0.1', 'fe80::1%eth0'] })
    const failure = await failureOf(names.send(post(`http://hooks.test:${receiver.port}/`)))
    expect(failure).toMatchObject({ reason: 'address', permanent: false })
    expect(failure.message).toContain('hooks.test')
    expect(failure.message).not.toContain('10.0.0.1')
    expect(receiver.connections).toBe(0)
  })

  test('only permitted addresses of a name are contacted', async () => {
    await using inside = await startReceiver()
    await using outside = await startReceiver(undefined, { host: '127.0.0.2', port: inside.port })
    const classify = (address: string) => (address === '127.0.0.2' ? 'public' : reachOf(address))
    const names = createWebRequest({ allowPrivate: false, classify, resolve: async () => ['127.0.0.1', '127.0.0.2'] })
    await names.send(post(`http://hooks.test:${inside.port}/`))
    expect([inside.connections, outside.connections]).toEqual([0, 1])
  })
})

test('the next allowed address is tried if one does not answer', async () => {
  await using receiver = await startReceiver()
  const names = createWebRequest({ allowPrivate: true, resolve: async () => ['127.0.0.3', '::1', '127.0.0.1'] })
  expect(await names.send(post(`http://hooks.test:${receiver.port}/`))).toMatchObject({ status: 200 })
})

describe('DNS rebinding', () => {
  // 127.0.0.2 plays the public address, so that the proof needs no other machine.
  const classify = (address: string) => (address === '127.0.0.2' ? 'public' : reachOf(address))

  test('a name is resolved once, and that address is contacted', async () => {
    await using inside = await startReceiver()
    await using outside = await startReceiver(undefined, { host: '127.0.0.2', port: inside.port })
    let questions = 0
    const alternating: Resolve = async () => (questions++ % 2 === 0 ? ['127.0.0.2'] : ['127.0.0.1'])
    const rebinding = createWebRequest({ allowPrivate: false, classify, resolve: alternating })

    await rebinding.send(post(`http://rebind.test:${inside.port}/`))
    expect(questions).toBe(1)
    expect(await failureOf(rebinding.send(post(`http://rebind.test:${inside.port}/`)))).toBeInstanceOf(WebRequestRefused)
    expect([inside.connections, outside.connections]).toEqual([0, 1])
    expect(outside.received[0]?.headers.host).toBe(`rebind.test:${inside.port}`)
  })

  test('a real name server with alternating answers never leads to an internal address', async () => {
    await using inside = await startReceiver()
    await using outside = await startReceiver(undefined, { host: '127.0.0.2', port: inside.port })
    let questions = 0
    await using nameServer = await startNameServer(() => (questions++ % 2 === 0 ? ['127.0.0.2'] : ['127.0.0.1']))
    const rebinding = createWebRequest({ allowPrivate: false, classify, resolve: publicNames([nameServer.address]) })

    const sent = [1, 2, 3, 4].map(() => rebinding.send(post(`http://rebind.test:${inside.port}/`)))
    const outcomes = (await Promise.allSettled(sent)).map(({ status }) => status).sort()
    expect(outcomes).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected'])
    expect(nameServer.requests).toHaveLength(4)
    expect([inside.connections, outside.connections]).toEqual([0, 2])
  })
})

describe('requests that are never sent', () => {
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

  test('a redirect is reported and never followed', async () => {
    await using target = await startReceiver()
    await using receiver = await startReceiver((response) =>
      response.writeHead(302, { location: `${target.url}/inside` }).end('moved'),
    )
    const answer = await open.send(post(receiver.url))
    expect(answer).toMatchObject({ status: 302, outcome: 'redirected', body: 'moved' })
    expect(target.connections).toBe(0)
  })

  test('proxies of the environment are not used', async () => {
    await using proxy = await startReceiver()
    await using receiver = await startReceiver()
    const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy', 'NODE_USE_ENV_PROXY']
    const before = names.map((name) => process.env[name])
    try {
      for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : proxy.url
      await createWebRequest({ allowPrivate: true }).send(post(receiver.url))
    } finally {
      for (const [at, name] of names.entries()) {
        if (before[at] === undefined) delete process.env[name]
        else process.env[name] = before[at]
      }
    }
    expect([proxy.connections, receiver.connections]).toEqual([0, 1])
  })
})
