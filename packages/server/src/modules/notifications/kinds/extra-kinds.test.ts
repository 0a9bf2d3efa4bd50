import { describe, expect, test } from 'vitest'
import { startReceiver } from '../../../drivers/web-request/test-receiver.ts'
import { discord, discordPayload } from './discord.ts'
import { ntfy, ntfyPayload } from './ntfy.ts'
import { telegram, telegramText } from './telegram.ts'
import { everythingIn, exampleMessage, failureOf, testDrivers, unaborted } from './test-delivery.ts'

const long = exampleMessage({ subject: '*'.repeat(5_000), text: '_🚢'.repeat(20_000), projectName: 'p'.repeat(3_000) })

describe('discord', () => {
  const token = 'canary-d15c0d-xxxxxxxxxxxxxxxxxxxxwxyz'
  const real = `https://discord.com/api/webhooks/1234567890/${token}`

  test('400: a URL that is not on the host of Discord', () => {
    for (const webhookUrl of [
      'http://discord.com/api/webhooks/1/x',
      'https://discord.com.evil.example/api/webhooks/1/x',
      undefined,
    ]) {
      expect(discord.checkConfig({ webhookUrl }, {})).toMatchObject({ ok: false, problems: [{ field: 'config.webhookUrl' }] })
    }
    expect(discord.checkConfig({ webhookUrl: real }, {})).toEqual({ ok: true, config: {}, secrets: { webhookUrl: real } })
  })

  test('reads return the last four characters, and that value may be sent back', () => {
    expect(discord.redact({}, { webhookUrl: real })).toEqual({ webhookUrl: 'https://discord.com/…wxyz' })
    const previous = { config: {}, secrets: { webhookUrl: real } }
    const again = discord.checkConfig({ webhookUrl: 'https://discord.com/…wxyz' }, {}, previous)
    expect(again.ok && discord.sameConfig(previous, again)).toBe(true)
  })

  test('truncates to the limits of Discord, escapes markup and disables mentions', () => {
    const { embeds, allowed_mentions } = discordPayload(long) as {
      embeds: { title: string; description: string; footer: { text: string } }[]
      allowed_mentions: unknown
    }
    const { title, description, footer } = embeds[0]!
    expect([title.length <= 256, description.length <= 4_096, footer.text.length <= 500]).toEqual([true, true, true])
    expect(title.length + description.length + footer.text.length).toBeLessThanOrEqual(6_000)
    expect(title).toMatch(/^(\\\*)+…$/)
    expect(allowed_mentions).toEqual({ parse: [] })
  })

  test('delivers, and reports the reason of a failure without the token', async () => {
    let status = 200
    await using receiver = await startReceiver(
      (response) => response.writeHead(status).end(JSON.stringify({ message: `Unknown Webhook ${token}`, code: 10015 })),
      { tls: true },
    )
    const secrets = { webhookUrl: `https://hooks.berth.test:${receiver.port}/api/webhooks/1/${token}` }
    await discord.deliver(exampleMessage(), {}, secrets, testDrivers(), unaborted)
    expect(receiver.received[0]?.path).toBe(`/api/webhooks/1/${token}?wait=true`)
    status = 404
    const failure = await failureOf(discord.deliver(exampleMessage(), {}, secrets, testDrivers(), unaborted))
    expect(failure).toMatchObject({ permanent: true, reason: 'Discord answered 404 Not Found: Unknown Webhook [secret]' })
    expect(everythingIn(failure)).not.toContain('canary')
  })
})

describe('telegram', () => {
  const botToken = '123456:canary-7e1e6ra-xxxxxxxxxxxxxxxwxyz'

  test('400: an invalid chat or token', () => {
    expect(telegram.checkConfig({}, {})).toMatchObject({ problems: [{ field: 'config.chatId' }, { field: 'config.botToken' }] })
    expect(telegram.checkConfig({ chatId: 'x y', botToken }, {})).toMatchObject({ problems: [{ field: 'config.chatId' }] })
    const sneaky = telegram.checkConfig({ chatId: '-1001', botToken: '1234:../../../x?y#zzzzzzzzzzzzzzzzzz' }, {})
    expect(sneaky).toMatchObject({ problems: [{ field: 'config.botToken' }] })
  })

  test('keeps the token if it is omitted or sent as a read returns it', () => {
    const previous = { config: { chatId: '-1001' }, secrets: { botToken } }
    const read = telegram.redact(previous.config, previous.secrets)
    expect(read).toEqual({ chatId: '-1001', botToken: '••••••••wxyz' })
    for (const input of [read, { chatId: '-1001' }]) {
      const again = telegram.checkConfig(input, {}, previous)
      expect(again.ok && telegram.sameConfig(previous, again)).toBe(true)
    }
    const moved = telegram.checkConfig({ chatId: '@harbour' }, {}, previous)
    expect(moved.ok && telegram.sameConfig(previous, moved)).toBe(false)
  })

  test('truncates to 4,096 characters and keeps the link complete', () => {
    expect(telegramText(long)).toHaveLength(4_096)
    expect(telegramText(long)).toMatch(/https:\/\/berth\.example\.com\/projects\/prj_1$/)
    expect(telegramText(exampleMessage())).toContain('Deployment 12 of shop failed\n\nThe health check')
  })

  test('delivers, and reports the reason of a failure without the token', async () => {
    let status = 200
    const description = `Bad Request: chat not found (bot${botToken})`
    await using receiver = await startReceiver((response) =>
      response.writeHead(status).end(JSON.stringify({ ok: status === 200, description })),
    )
    const send = () =>
      telegram.deliver(exampleMessage(), { chatId: '-1001' }, { botToken }, testDrivers({ telegramApi: receiver.url }), unaborted)
    await send()
    expect(receiver.received[0]?.path).toBe(`/bot${botToken}/sendMessage`)
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ chat_id: '-1001', text: telegramText(exampleMessage()) })
    status = 400
    const failure = await failureOf(send())
    expect(failure).toMatchObject({
      permanent: true,
      reason: expect.stringContaining('Bad Request: chat not found (bot[secret])'),
    })
    expect(everythingIn(failure)).not.toContain('canary')
  })
})

describe('ntfy', () => {
  test('400: an invalid server or topic', () => {
    expect(ntfy.checkConfig({ topic: 'a/b' }, {})).toMatchObject({ problems: [{ field: 'config.topic' }] })
    for (const server of ['ftp://ntfy.example', 'https://ntfy.example/path', 'https://u:p@ntfy.example', 'ntfy.example']) {
      expect(ntfy.checkConfig({ topic: 'alerts', server }, {})).toMatchObject({ problems: [{ field: 'config.server' }] })
    }
  })

  test('reads return { server, topic, hasToken }; a token is kept for its own server only', () => {
    const previous = { config: { server: 'https://ntfy.example', topic: 'alerts' }, secrets: { token: 'tk_canary' } }
    expect(ntfy.redact(previous.config, previous.secrets)).toEqual({ ...previous.config, hasToken: true })
    const again = ntfy.checkConfig({ server: 'https://ntfy.example/', topic: 'alerts', hasToken: true }, {}, previous)
    expect(again.ok && ntfy.sameConfig(previous, again)).toBe(true)
    const moved = ntfy.checkConfig({ server: 'https://evil.example', topic: 'alerts' }, {}, previous)
    expect(moved).toEqual({ ok: true, config: { server: 'https://evil.example', topic: 'alerts' }, secrets: {} })
    expect(ntfy.checkConfig({ topic: 'alerts' }, {})).toMatchObject({ ok: true, config: { server: 'https://ntfy.sh' } })
  })

  test('truncates to 4,096 bytes', () => {
    const { message, title } = ntfyPayload(long) as { message: string; title: string }
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(4_096)
    expect(title).toHaveLength(250)
  })

  test('delivers with its token, and fails without showing it', async () => {
    let status = 200
    await using receiver = await startReceiver((response) => response.writeHead(status).end('tk_canary'))
    const config = { server: receiver.url, topic: 'alerts' }
    const send = () => ntfy.deliver(exampleMessage(), config, { token: 'tk_canary' }, testDrivers(), unaborted)
    await send()
    expect(receiver.received[0]).toMatchObject({ path: '/', headers: { authorization: 'Bearer tk_canary' } })
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ topic: 'alerts', title: 'Deployment 12 of shop failed' })
    status = 403
    const failure = await failureOf(send())
    expect(failure).toMatchObject({ permanent: true, reason: 'The ntfy server answered 403 Forbidden' })
    expect(everythingIn(failure)).not.toContain('canary')
  })
})
