import { describe, expect, test } from 'vitest'
import { startReceiver } from '../../../drivers/web-request/test-receiver.ts'
import { joinMessages } from './message.ts'
import { slack, slackPayload } from './slack.ts'
import { everythingIn, exampleMessage, failureOf, testDrivers, unaborted } from './test-delivery.ts'

const real = 'https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXXXXXXXXXXwxyz'
const shown = 'https://hooks.slack.com/…wxyz'

describe('config { webhookUrl }', () => {
  test.each([
    ...[
      'http://hooks.slack.com/services/T0/B0/X',
      'https://example.com/services/T0/B0/X',
      'https://hooks.slack.com/',
      'https://hooks.slack.com',
    ],
    ...[
      'https://hooks.slack.com.evil.example/services/x',
      'https://evil.example/hooks.slack.com/x',
      'https://hooks.slack.com:8443/services/x',
    ],
    ...['https://user@hooks.slack.com/services/x', 'https://hooks.slack.com@evil.example/x'],
    ...['nonsense', '', shown, 7, null, undefined],
  ])('400: chat URL not on the required https host: %j', (webhookUrl) => {
    expect(slack.checkConfig({ webhookUrl }, {})).toMatchObject({ ok: false, problems: [{ field: 'config.webhookUrl' }] })
  })

  test('the stored address is the requested one', () => {
    const checked = slack.checkConfig({ webhookUrl: 'https://HOOKS.slack.com\\@evil.example/services/x' }, {})
    expect(checked).toMatchObject({ ok: true, secrets: { webhookUrl: 'https://hooks.slack.com/@evil.example/services/x' } })
  })

  test('the required host is configurable for a compatible server', () => {
    const settings = { slackHost: 'Chat.example.com:8443' }
    const webhookUrl = 'https://chat.example.com:8443/hooks/abcdefghijklmnop'
    expect(slack.checkConfig({ webhookUrl }, settings)).toEqual({ ok: true, config: {}, secrets: { webhookUrl } })
    expect(slack.checkConfig({ webhookUrl: real }, settings)).toMatchObject({
      problems: [{ field: 'config.webhookUrl', message: expect.stringContaining('Chat.example.com:8443') }],
    })
  })

  test('reads return { webhookUrl: "https://hooks.slack.com/…last4" }', () => {
    expect(slack.redact({}, { webhookUrl: real })).toEqual({ webhookUrl: shown })
    expect(slack.redact({}, { webhookUrl: 'https://hooks.slack.com/abcd' })).toEqual({ webhookUrl: 'https://hooks.slack.com/…' })
  })

  test('the same config sent again changes nothing, also in the form that a read returns', () => {
    const previous = { config: {}, secrets: { webhookUrl: real } }
    for (const webhookUrl of [real, shown]) {
      const checked = slack.checkConfig({ webhookUrl }, {}, previous)
      expect(checked).toMatchObject({ ok: true, secrets: { webhookUrl: real } })
      expect(checked.ok && slack.sameConfig(previous, checked)).toBe(true)
    }
    const changed = slack.checkConfig({ webhookUrl: real.replace('wxyz', 'abcd') }, {}, previous)
    expect(changed.ok && slack.sameConfig(previous, changed)).toBe(false)
  })
})

describe('blocks within the limits of Slack', () => {
  const textsOf = (message = exampleMessage()) => JSON.stringify(slackPayload(message))

  test('have header, text, context and a link', () => {
    expect(slackPayload(exampleMessage())).toEqual({
      text: 'Deployment 12 of shop failed',
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'Deployment 12 of shop failed', emoji: false } },
        {
          type: 'section',
          text: { type: 'mrkdwn', text: 'The health check did not pass.\n\nLast status: 502', verbatim: true },
        },
        {
          type: 'context',
          elements: [{ type: 'mrkdwn', text: 'Deployment failed · shop · Harbour &amp; Sons', verbatim: true }],
        },
        {
          type: 'actions',
          elements: [
            {
              type: 'button',
              text: { type: 'plain_text', text: 'Open in Berth' },
              url: 'https://berth.example.com/projects/prj_1',
            },
          ],
        },
      ],
    })
  })

  test.each(['x', '&', '🚢', '<'])('header 150 characters, section 3,000, filled with %s', (filling) => {
    const long = filling.repeat(10_000)
    const { blocks, text } = slackPayload(exampleMessage({ subject: long, text: long, projectName: long }))
    const [header, section, context] = blocks as { text: { text: string }; elements: { text: string }[] }[]
    expect(header!.text.text.length).toBeLessThanOrEqual(150)
    expect(section!.text.text.length).toBeLessThanOrEqual(3_000)
    expect(section!.text.text.length).toBeGreaterThan(2_990)
    expect(context!.elements[0]!.text.length).toBeLessThanOrEqual(500)
    expect(text.length).toBeLessThanOrEqual(1_000)
    expect(section!.text.text).toMatch(/^(x|&amp;|🚢|&lt;)+…$/u)
  })

  test('at most 50 blocks, and the number of omitted ones', () => {
    const joined = joinMessages(
      Array.from({ length: 200 }, (_, at) => exampleMessage({ subject: `Deployment ${at}`, text: 'x'.repeat(900) })),
    )
    const { blocks } = slackPayload(joined)
    expect(blocks).toHaveLength(50)
    expect(JSON.stringify(blocks)).toContain('… and 154 more')
    expect(JSON.stringify(blocks)).toContain('Deployment 45\\n')
    expect(JSON.stringify(blocks)).not.toContain('Deployment 46\\n')
    expect(JSON.stringify(blocks).length).toBeLessThan(16_000)
  })

  test('& < > are escaped, so that no mention or hidden link can be written', () => {
    const sent = textsOf(exampleMessage({ text: '<!channel> <https://evil.example|your bank> &lt;', projectName: '<@U1>' }))
    expect(sent).not.toMatch(/<[!@h]/)
    expect(sent).toContain('&lt;!channel&gt; &lt;https://evil.example|your bank&gt; &amp;lt;')
  })

  test('an empty text, an empty subject and an invalid link leave no empty block', () => {
    const { blocks } = slackPayload(exampleMessage({ text: '  ', subject: '', url: 'javascript:alert(1)' }))
    expect(blocks.map((block) => (block as { type: string }).type)).toEqual(['header', 'context'])
    expect(JSON.stringify(blocks)).toContain('Deployment failed')
  })
})

describe('delivery to Slack', () => {
  const canary = 'canary-51ac4b'
  const urlOf = (port: number) => `https://chat.berth.test:${port}/services/T0/${canary}`
  const send = (port: number) => slack.deliver(exampleMessage(), {}, { webhookUrl: urlOf(port) }, testDrivers(), unaborted)

  test('is sent over TLS with the name of the host', async () => {
    await using receiver = await startReceiver(undefined, { tls: true })
    await send(receiver.port)
    expect(receiver.received).toMatchObject([{ servername: 'chat.berth.test', path: `/services/T0/${canary}` }])
    expect(JSON.parse(receiver.received[0]!.body)).toEqual(slackPayload(exampleMessage()))
  })

  test.each([
    [400, 'invalid_payload', true],
    [404, 'no_service', true],
    [403, 'invalid_token', true],
    [429, 'rate_limited', false],
    [500, 'rollup_error', false],
  ])('%i %s: the answer of Slack is the reason, permanent %s', async (status, message, permanent) => {
    await using receiver = await startReceiver(
      (response) => response.writeHead(status, { 'retry-after': '2' }).end(`${message}\n for /services/T0/${canary}`),
      { tls: true },
    )
    const failure = await failureOf(send(receiver.port))
    expect(failure).toMatchObject({ permanent, retryAfterMs: 2_000 })
    expect(failure.reason).toMatch(new RegExp(`^Slack answered ${status} .*: ${message} for \\[secret\\]$`))
    expect(everythingIn(failure)).not.toContain(canary)
  })

  test('for an unreachable receiver the failure does not contain the secret', async () => {
    const receiver = await startReceiver(undefined, { tls: true })
    await receiver[Symbol.asyncDispose]()
    const failure = await failureOf(send(receiver.port))
    expect(failure).toMatchObject({ permanent: false, reason: expect.stringContaining('chat.berth.test refused the connection') })
    expect(everythingIn(failure)).not.toContain(canary)
  })
})
