import { describe, expect, test } from 'vitest'
import { createMailer } from '../../../drivers/mail/mailer.ts'
import { channelKind, channelKinds } from './registry.ts'
import { exampleMessage, testDrivers, unaborted } from './test-delivery.ts'

const valid: Record<string, object> = {
  email: { address: 'ada@example.org' },
  webhook: { url: 'https://example.com/hook' },
  in_app: {},
  slack: { webhookUrl: 'https://hooks.slack.com/services/T0/B0/abcdefghijklmnop' },
  discord: { webhookUrl: 'https://discord.com/api/webhooks/1/abcdefghijklmnop' },
  telegram: { chatId: '-1001', botToken: '123456:abcdefghijklmnopqrstuvwxyz' },
  ntfy: { topic: 'alerts', token: 'tk_abcdefghijkl' },
}

test('kind is one of email, webhook, in_app, slack; the others are extras', () => {
  expect(channelKinds.filter(({ documented }) => documented).map(({ kind }) => kind)).toEqual([
    'email',
    'webhook',
    'in_app',
    'slack',
  ])
  expect(channelKinds.map(({ kind }) => kind).sort()).toEqual(Object.keys(valid).sort())
  expect(channelKind('sms')).toBeUndefined()
  expect(channelKind('toString')).toBeUndefined()
})

describe.each(channelKinds.map((kind) => [kind.kind, kind] as const))('%s', (name, kind) => {
  const checked = kind.checkConfig(valid[name], {})
  if (!checked.ok) throw new Error(JSON.stringify(checked.problems))

  test('the same config sent again changes nothing', () => {
    const again = kind.checkConfig(valid[name], {}, checked)
    expect(again.ok && kind.sameConfig(checked, again)).toBe(true)
  })

  test('sending back a read value changes nothing', () => {
    const again = kind.checkConfig(kind.redact(checked.config, checked.secrets), {}, checked)
    expect(again.ok && kind.sameConfig(checked, again)).toBe(true)
  })

  test('no secret is in a read or in the unsealed config', () => {
    const open = JSON.stringify([kind.redact(checked.config, checked.secrets), checked.config])
    for (const secret of Object.values(checked.secrets)) expect(open).not.toContain(secret)
  })

  test('config and secrets survive being stored as JSON', () => {
    const { config, secrets } = checked
    expect(JSON.parse(JSON.stringify({ config, secrets }))).toEqual({ config, secrets })
  })

  test.each(['text', 7, true, ['x'], null])('400: config %j is not an object', (input) => {
    expect(kind.checkConfig(input, {})).toMatchObject({ ok: false, problems: [{ field: 'config' }] })
  })

  test('an unknown field is dropped, also __proto__', () => {
    const input = JSON.parse(
      `{"__proto__":{"address":"eve@example.org"},"extra":1,${JSON.stringify(valid[name]).slice(1)}`.replace(',}', '}'),
    )
    const again = kind.checkConfig(input, {}, checked)
    expect(again.ok && kind.sameConfig(checked, again)).toBe(true)
  })

  test('an abort before the start sends nothing', async () => {
    const abort = AbortSignal.abort(new Error('lease lost'))
    const mailer = createMailer({ smtpUrl: 'smtp://127.0.0.1:1' })
    const delivery = kind.deliver(exampleMessage(), checked.config, checked.secrets, testDrivers({ mailer }), abort)
    await expect(delivery).rejects.toThrow('lease lost')
  })
})

test('an in-app message has arrived once it is recorded', async () => {
  await expect(channelKind('in_app')?.deliver(exampleMessage(), {}, {}, testDrivers(), unaborted)).resolves.toBeUndefined()
})
