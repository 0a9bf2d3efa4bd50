import { describe, expect, test } from 'vitest'
import { createMailer } from '../../../drivers/mail/mailer.ts'
import { smtpError, startSmtpServer } from '../../../drivers/mail/test-smtp-server.ts'
import { email } from './email.ts'
import { everythingIn, exampleMessage, failureOf, testDrivers, unaborted } from './test-delivery.ts'

describe('config { address }', () => {
  test.each([
    ...[
      'ada',
      'ada@',
      '@example.org',
      'ada@example',
      'a b@example.org',
      'ada@exa mple.org',
      'ada@@example.org',
      'a@b@example.org',
    ],
    ...[
      'ada@example.org\r\nBcc: eve@example.org',
      'Ada <ada@example.org>',
      'ada@example.org,eve@example.org',
      '.ada@example.org',
    ],
    ...[
      'ada..l@example.org',
      'ada@-example.org',
      'ada@example..org',
      'ada@[127.0.0.1]',
      '"ada"@example.org',
      'ada@exam%70le.org',
    ],
    ...[`${'x'.repeat(65)}@example.org`, `ada@${'x'.repeat(250)}.org`, '', '  ', 7, null, undefined, ['ada@example.org']],
  ])('400: malformed e-mail: %j', (address) => {
    expect(email.checkConfig({ address }, {})).toMatchObject({ ok: false, problems: [{ field: 'config.address' }] })
  })

  test.each([
    ['ada@example.org', 'ada@example.org'],
    [' Ada.Lovelace+berth@Mail.Example.ORG ', 'Ada.Lovelace+berth@mail.example.org'],
    ["o'brien@example.co.uk", "o'brien@example.co.uk"],
    ['ada@bücher.example', 'ada@bücher.example'],
  ])('%s is well-formed', (given, address) => {
    expect(email.checkConfig({ address: given, other: 'dropped' }, {})).toEqual({ ok: true, config: { address }, secrets: {} })
  })

  test('reads return { address }; the same address sent again changes nothing', () => {
    expect(email.redact({ address: 'ada@example.org' }, {})).toEqual({ address: 'ada@example.org' })
    const [a, b, c] = ['ada@example.org', 'ada@EXAMPLE.org', 'Ada@example.org'].map((address) => {
      const checked = email.checkConfig({ address }, {})
      if (!checked.ok) throw new Error('refused')
      return checked
    })
    expect([email.sameConfig(a!, b!), email.sameConfig(a!, c!)]).toEqual([true, false])
  })
})

describe('delivery by e-mail', () => {
  const through = (smtpUrl: string | undefined) => testDrivers({ mailer: createMailer({ smtpUrl, from: 'berth@example.org' }) })
  const send = (smtpUrl: string | undefined, message = exampleMessage()) =>
    email.deliver(message, { address: 'ada@example.org' }, {}, through(smtpUrl), unaborted)

  test('sends text and HTML, and the id of the delivery as the message id', async () => {
    await using server = await startSmtpServer()
    await send(`smtp://127.0.0.1:${server.port}`)
    const [taken] = server.mails
    expect(taken?.to).toEqual(['ada@example.org'])
    expect(taken?.parsed).toMatchObject({
      subject: 'Deployment 12 of shop failed',
      messageId: '<ndl_abcdefghijklmnopqrst@example.org>',
      attachments: [],
    })
    for (const body of [taken?.parsed.text, taken?.parsed.html]) expect(body).toContain('The health check did not pass.')
  })

  test('keeps a subject with line breaks in one header', async () => {
    await using server = await startSmtpServer()
    await send(`smtp://127.0.0.1:${server.port}`, exampleMessage({ subject: 'Failed\r\nBcc: eve@example.org' }))
    expect(server.mails[0]).toMatchObject({ to: ['ada@example.org'], parsed: { subject: 'Failed Bcc: eve@example.org' } })
  })

  test.each([
    [550, true],
    [451, false],
  ])('a rejection with %i: the reason is readable, permanent %s', async (code, permanent) => {
    await using server = await startSmtpServer({ onRcptTo: (_a, _s, done) => done(smtpError(code, 'mailbox says no')) })
    const failure = await failureOf(send(`smtp://127.0.0.1:${server.port}`))
    expect(failure.permanent).toBe(permanent)
    expect(failure.reason).toContain('mailbox says no')
  })

  test('a failure does not contain the password of the mail server', async () => {
    await using server = await startSmtpServer({ onAuth: (auth, _s, done) => done(smtpError(535, `no ${auth.password}`)) })
    const failure = await failureOf(send(`smtp://berth:canary-1e4d@127.0.0.1:${server.port}`))
    expect(failure.permanent).toBe(false)
    expect(everythingIn(failure)).not.toContain('canary-1e4d')
  })

  test('without a mail server the failure names the setting', async () => {
    expect(await failureOf(send(undefined))).toMatchObject({ permanent: true, reason: expect.stringContaining('BERTH_SMTP_URL') })
  })

  test('an abort is rethrown and is not a failure of the delivery', async () => {
    const abort = AbortSignal.abort(new Error('lease lost'))
    const delivery = email.deliver(exampleMessage(), { address: 'ada@example.org' }, {}, through('smtp://127.0.0.1:1'), abort)
    await expect(delivery).rejects.toThrow('lease lost')
  })
})
