import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { startReceiver } from '../../../drivers/web-request/test-receiver.ts'
import { createWebRequest } from '../../../drivers/web-request/web-request.ts'
import type { CheckedConfig } from './kind.ts'
import { joinMessages } from './message.ts'
import { everythingIn, exampleMessage, failureOf, testDrivers, unaborted } from './test-delivery.ts'
import { webhook } from './webhook.ts'

const canary = 'canary-c0ffee'
const accepted = <C, S>(checked: CheckedConfig<C, S>) => {
  if (!checked.ok) throw new Error(JSON.stringify(checked.problems))
  return checked
}
const send = (url: string, secret = 'shh', drivers = testDrivers()) =>
  webhook.deliver(exampleMessage(), { url }, { secret }, drivers, unaborted)

describe('config { url, secret? }', () => {
  test.each([
    ['ftp://example.com/x'],
    ['javascript:alert(1)'],
    ['example.com/hook'],
    ['https://'],
    ['http:///x'],
    ['http:\\\\example.com\\x'],
    ['file:///etc/passwd'],
    ['https://user:pass@example.com/'],
    ['https://user@example.com/'],
    [''],
    ['   '],
    [undefined],
    [null],
    [7],
    [`https://example.com/${'x'.repeat(3_000)}`],
  ])('400: webhook URL not http(s): %s', (url) => {
    expect(webhook.checkConfig({ url }, {})).toMatchObject({ ok: false, problems: [{ field: 'config.url' }] })
  })

  test.each(['config', 7, null, ['x']])('400: config that is not an object: %j', (input) => {
    expect(webhook.checkConfig(input, {})).toEqual({ ok: false, problems: [{ field: 'config', message: 'must be an object' }] })
  })

  test('400: an empty config names the URL', () => {
    expect(webhook.checkConfig(undefined, {})).toMatchObject({ problems: [{ field: 'config.url', message: 'is required' }] })
    expect(webhook.checkConfig({}, {})).toMatchObject({ problems: [{ field: 'config.url', message: 'is required' }] })
  })

  test.each(['', 7, null, 'x'.repeat(257)])('400: an invalid secret: %j', (secret) => {
    const checked = webhook.checkConfig({ url: 'https://example.com/', secret }, {})
    expect(checked).toMatchObject({ ok: false, problems: [{ field: 'config.secret' }] })
  })

  test('a missing secret is generated, shown once, and different each time', () => {
    const one = accepted(webhook.checkConfig({ url: 'http://example.com/' }, {}))
    const two = accepted(webhook.checkConfig({ url: 'http://example.com/' }, {}))
    expect(one.shownOnce?.secret).toBe(one.secrets.secret)
    expect(one.secrets.secret).toMatch(/^bws_[\w-]{43}$/)
    expect(one.secrets.secret).not.toBe(two.secrets.secret)
  })

  test('a secret of the caller is used and not shown', () => {
    const checked = accepted(webhook.checkConfig({ url: 'https://example.com/', secret: 'mine' }, {}))
    expect(checked).toEqual({ ok: true, config: { url: 'https://example.com/' }, secrets: { secret: 'mine' } })
  })

  test('reads return { url, hasSecret }', () => {
    expect(webhook.redact({ url: 'https://example.com/' }, { secret: canary })).toEqual({
      url: 'https://example.com/',
      hasSecret: true,
    })
  })

  test('a URL edit keeps the signing secret', () => {
    const previous = { config: { url: 'https://old.example.com/' }, secrets: { secret: 'old' } }
    const changed = accepted(webhook.checkConfig({ url: 'https://new.example.com/' }, {}, previous))
    expect(changed.secrets).toEqual({ secret: 'old' })
    expect(changed.shownOnce).toBeUndefined()
    expect(webhook.sameConfig(previous, changed)).toBe(false)
  })

  test('a new signing secret alone keeps the URL', () => {
    const previous = { config: { url: 'https://example.com/' }, secrets: { secret: 'old' } }
    const rotated = accepted(webhook.checkConfig({ secret: 'new' }, {}, previous))
    expect(rotated).toMatchObject({ config: previous.config, secrets: { secret: 'new' } })
  })

  test('the same config sent again changes nothing, also in the form that a read returns', () => {
    const previous = { config: { url: 'https://example.com' }, secrets: { secret: 'old' } }
    const sent = [
      { url: 'https://example.com' },
      { url: 'https://EXAMPLE.com/', secret: 'old' },
      { url: 'https://example.com', hasSecret: true },
    ]
    for (const input of sent) expect(webhook.sameConfig(previous, accepted(webhook.checkConfig(input, {}, previous)))).toBe(true)
    const rotated = accepted(webhook.checkConfig({ url: 'https://example.com', secret: 'new' }, {}, previous))
    expect(webhook.sameConfig(previous, rotated)).toBe(false)
  })
})

describe('webhook delivery', () => {
  test('JSON { id, category, organizationId, subject, text, data, createdAt } and nothing else', async () => {
    await using receiver = await startReceiver()
    await send(`${receiver.url}/in?x=1`)
    const [request] = receiver.received
    expect(request).toMatchObject({ method: 'POST', path: '/in?x=1', headers: { 'content-type': 'application/json' } })
    const { id, category, organizationId, subject, text, data, createdAt } = exampleMessage()
    const sent = { id, category, organizationId, subject, text, data: { projectId: 'prj_1', ...data }, createdAt }
    expect(JSON.parse(request!.body)).toEqual(sent)
  })

  test('headers berth-event, berth-delivery, berth-signature: t=…,v1=<hex hmac-sha256 of "t.body">', async () => {
    await using receiver = await startReceiver()
    await send(receiver.url, 'sécret 🔑', testDrivers({ now: () => new Date(1_767_225_600_999) }))
    const { headers, body } = receiver.received[0]!
    expect(headers).toMatchObject({ 'berth-event': 'deploy.failed', 'berth-delivery': 'ndl_abcdefghijklmnopqrst' })
    const v1 = createHmac('sha256', Buffer.from('sécret 🔑')).update(`1767225600.${body}`).digest('hex')
    expect(headers['berth-signature']).toBe(`t=1767225600,v1=${v1}`)
  })

  test('the signature covers the bytes as sent, whatever is in the text', async () => {
    await using receiver = await startReceiver()
    const message = exampleMessage({ text: '\u2028 🚢 "quotes" \\ \0', data: { nested: ['ü'] } })
    await webhook.deliver(message, { url: receiver.url }, { secret: 'shh' }, testDrivers(), unaborted)
    const { headers, body } = receiver.received[0]!
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['berth-signature'])) ?? []
    expect(createHmac('sha256', 'shh').update(`${t}.${body}`).digest('hex')).toBe(v1)
  })

  test('a digest contains all its events', async () => {
    await using receiver = await startReceiver()
    const joined = joinMessages(Array.from({ length: 11 }, (_, at) => exampleMessage({ id: `ndl_${at}` })))
    await webhook.deliver(joined, { url: receiver.url }, { secret: 'shh' }, testDrivers(), unaborted)
    const sent = JSON.parse(receiver.received[0]!.body)
    expect(sent.data.messages).toHaveLength(11)
    expect(sent.joined).toBeUndefined()
  })

  test.each([200, 201, 202, 204, 299])('%i counts as delivered', async (status) => {
    await using receiver = await startReceiver((response) => response.writeHead(status).end())
    await send(receiver.url)
    expect(receiver.received).toHaveLength(1)
  })
})

describe('an invalid receiver: 500, hanging, redirecting to loopback, or answering without end', () => {
  const secretive = (url: string) => `${url}/${canary}?token=${canary}`

  test.each([
    [400, false],
    [404, false],
    [408, false],
    [410, true],
    [429, false],
    [500, false],
    [503, false],
  ])('%i: the reason is readable, no part contains the secret, permanent %s', async (status, permanent) => {
    await using receiver = await startReceiver((response, { headers }) =>
      response.writeHead(status, { 'retry-after': '30' }).end(`you sent ${canary} ${headers['berth-signature']}`),
    )
    const failure = await failureOf(send(secretive(receiver.url), canary))
    expect(failure).toMatchObject({ permanent, retryAfterMs: 30_000 })
    expect(failure.reason).toMatch(new RegExp(`^The receiver answered ${status} [A-Z]`))
    expect(everythingIn(failure)).not.toContain(canary)
    expect(everythingIn(failure)).not.toContain('you sent')
  })

  test('a redirect to loopback is not followed', async () => {
    await using inside = await startReceiver()
    await using receiver = await startReceiver((response) => response.writeHead(307, { location: secretive(inside.url) }).end())
    const failure = await failureOf(send(secretive(receiver.url), canary))
    expect(failure.reason).toBe('The receiver answered 307 with a redirect, which is not followed: enter the address it leads to')
    expect(failure.permanent).toBe(false)
    expect(inside.connections).toBe(0)
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('a receiver that hangs times out', async () => {
    await using receiver = await startReceiver(() => {})
    const { webRequest } = testDrivers()
    const hurried = { send: (request: Parameters<typeof webRequest.send>[0]) => webRequest.send({ ...request, timeoutMs: 100 }) }
    const failure = await failureOf(send(secretive(receiver.url), canary, testDrivers({ webRequest: hurried })))
    expect(failure.reason).toBe('127.0.0.1 did not answer within 0.1 seconds')
    expect(failure.permanent).toBe(false)
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test.each([
    [200, 'arrived'],
    [500, 'failed'],
  ])('an endless body after %i: %s', async (status, outcome) => {
    await using receiver = await startReceiver((response) => {
      response.writeHead(status)
      const more = () => {
        while (response.write(canary.repeat(1_000)));
      }
      response.on('drain', more)
      more()
    })
    const delivery = send(receiver.url)
    if (outcome === 'arrived') await delivery
    else expect((await failureOf(delivery)).reason).toBe('The receiver answered 500 Internal Server Error')
    await receiver.quiet()
  })

  test('an internal address is refused at delivery, and permanently if it is literal', async () => {
    await using receiver = await startReceiver()
    const closed = createWebRequest({ allowPrivate: false, resolve: async () => ['127.0.0.1'] })
    const literal = await failureOf(send(secretive(receiver.url), canary, testDrivers({ webRequest: closed })))
    const named = await failureOf(
      send(`http://hooks.test:${receiver.port}/${canary}`, canary, testDrivers({ webRequest: closed })),
    )
    expect([literal.permanent, named.permanent]).toEqual([true, false])
    expect(named.reason).toBe('hooks.test is inside a private or reserved network, where this instance does not send')
    expect(receiver.connections).toBe(0)
    expect(everythingIn(literal) + everythingIn(named)).not.toContain(canary)
  })

  test('an abort is rethrown and is not a failure of the delivery', async () => {
    await using receiver = await startReceiver(() => abort.abort(new Error('lease lost')))
    const abort = new AbortController()
    const delivery = webhook.deliver(exampleMessage(), { url: receiver.url }, { secret: 'x' }, testDrivers(), abort.signal)
    await expect(delivery).rejects.toThrow('lease lost')
  })
})
