import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { testAuthority } from '../web-request/test-receiver.ts'
import type { MailFailed } from './mail-failed.ts'
import { createMailer, type Mail } from './mailer.ts'
import { smtpError, startSmtpServer } from './test-smtp-server.ts'

const canary = 'canary-5b1d0e'
const mail: Mail = { to: 'ada@example.org', subject: 'Deploy failed', text: 'Plain', html: '<p>Rich</p>', messageId: 'ndl_1' }
const failureOf = async (sending: Promise<void>): Promise<MailFailed> =>
  sending.then(
    () => expect.unreachable('it was sent'),
    (error) => error,
  )

describe('a mail', () => {
  test('arrives with text and HTML, once, from the configured sender', async () => {
    await using server = await startSmtpServer()
    await createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}`, from: 'Berth Ops <ops@example.org>' }).send(mail)
    expect(server.mails).toHaveLength(1)
    expect(server.mails[0]).toMatchObject({ from: 'ops@example.org', to: ['ada@example.org'] })
    expect(server.mails[0]?.parsed).toMatchObject({
      subject: 'Deploy failed',
      messageId: '<ndl_1@example.org>',
      from: { value: [{ name: 'Berth Ops', address: 'ops@example.org' }] },
      to: { value: [{ address: 'ada@example.org' }] },
    })
    expect(server.mails[0]?.parsed.text?.trim()).toBe('Plain')
    expect(server.mails[0]?.parsed.html).toContain('<p>Rich</p>')
    expect(server.mails[0]?.parsed.headers.get('auto-submitted')).toBe('auto-generated')
  })

  test('keeps umlauts, emoji, long lines and lines with a single dot', async () => {
    await using server = await startSmtpServer()
    const text = `Grüße 🚢\n.\n..dots\n${'long '.repeat(400)}`
    await createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}` }).send({ ...mail, subject: 'Fähre „Berth“ 🚢', text })
    expect(server.mails[0]?.parsed.subject).toBe('Fähre „Berth“ 🚢')
    expect(server.mails[0]?.parsed.text?.trimEnd()).toBe(text.trimEnd())
  })

  test.each([
    'a\r\nBcc: eve@example.org',
    'a\nBcc: eve@example.org',
    'a\rBcc: eve@example.org',
    'a\r\n\r\nbody',
    'a\u2028Bcc: x\0y',
  ])('the subject %j injects no header', async (subject) => {
    await using server = await startSmtpServer()
    await createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}` }).send({ ...mail, subject })
    const [taken] = server.mails
    expect(taken?.to).toEqual(['ada@example.org'])
    expect([...(taken?.parsed.headers.keys() ?? [])]).not.toContain('bcc')
    expect(taken?.parsed.subject?.startsWith('a ')).toBe(true)
    expect(taken?.parsed.text?.trim()).toBe('Plain')
  })

  test.each([
    'ada@example.org\r\nBcc: eve@example.org',
    'a@x.org, b@x.org',
    'a@x.org> NOTIFY=NEVER',
    'Group: a@x.org;',
    'ada',
    '',
  ])('the address %j adds no other recipient', async (to) => {
    await using server = await startSmtpServer()
    const failure = await failureOf(createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}` }).send({ ...mail, to }))
    expect(failure).toMatchObject({ name: 'MailFailed', reason: 'invalid_mail', permanent: true })
    expect(server.mails).toEqual([])
  })

  test('the message id injects no header', async () => {
    await using server = await startSmtpServer()
    await createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}` }).send({ ...mail, messageId: 'x>\r\nBcc: eve@example.org' })
    expect([...(server.mails[0]?.parsed.headers.keys() ?? [])]).not.toContain('bcc')
  })
})

describe('encryption', () => {
  // 0.0.0.0 reaches loopback without being written as loopback, so the rules for other machines apply.
  const elsewhere = (port: number, scheme = 'smtp', query = '?servername=smtp.berth.test') =>
    `${scheme}://0.0.0.0:${port}${query}`

  test('uses STARTTLS and verifies the certificate', async () => {
    await using server = await startSmtpServer()
    await createMailer({ smtpUrl: elsewhere(server.port), ca: testAuthority }).send(mail)
    expect(server.mails).toMatchObject([{ secure: true }])
  })

  test('uses TLS from the first byte with smtps', async () => {
    await using server = await startSmtpServer({ secure: true })
    await createMailer({ smtpUrl: elsewhere(server.port, 'smtps'), ca: testAuthority }).send(mail)
    expect(server.mails).toMatchObject([{ secure: true }])
  })

  test.each([
    ['of an unknown authority', '?servername=smtp.berth.test', undefined],
    ['for another name', '?servername=other.berth.test', testAuthority],
  ])('a certificate %s is refused, and nothing is sent', async (_, query, ca) => {
    await using server = await startSmtpServer()
    const failure = await failureOf(createMailer({ smtpUrl: elsewhere(server.port, 'smtp', query), ca }).send(mail))
    expect(failure).toMatchObject({ reason: 'tls', permanent: false })
    expect(server.mails).toEqual([])
  })

  test('a server without STARTTLS gets neither the mail nor the password', async () => {
    const logins: unknown[] = []
    await using server = await startSmtpServer({
      hideSTARTTLS: true,
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: (auth, _session, done) => done(null, { user: logins.push(auth) }),
    })
    const failure = await failureOf(createMailer({ smtpUrl: `smtp://me:${canary}@0.0.0.0:${server.port}` }).send(mail))
    expect(failure).toMatchObject({ reason: 'tls', permanent: false })
    expect([server.mails, logins]).toEqual([[], []])
  })

  test('a relay without TLS is used if the operator allows it', async () => {
    await using server = await startSmtpServer({ hideSTARTTLS: true })
    await createMailer({ smtpUrl: elsewhere(server.port, 'smtp', '?tls=optional') }).send(mail)
    expect(server.mails).toMatchObject([{ secure: false }])
  })

  test('on loopback, plain text and a self-signed certificate are accepted', async () => {
    await using plain = await startSmtpServer({ hideSTARTTLS: true })
    await using homemade = await startSmtpServer()
    await createMailer({ smtpUrl: `smtp://127.0.0.1:${plain.port}` }).send(mail)
    await createMailer({ smtpUrl: `smtp://127.0.0.1:${homemade.port}` }).send(mail)
    expect([plain.mails[0]?.secure, homemade.mails[0]?.secure]).toEqual([false, true])
  })
})

describe('each error is a typed failure', () => {
  test('no mail server configured', async () => {
    const mailer = createMailer({ smtpUrl: undefined })
    expect(mailer.configured).toBe(false)
    expect(await failureOf(mailer.send(mail))).toMatchObject({
      name: 'MailFailed',
      reason: 'not_configured',
      message: expect.stringContaining('BERTH_SMTP_URL'),
    })
  })

  test.each([
    [550, 'rejected', true],
    [552, 'rejected', true],
    [450, 'deferred', false],
    [421, 'deferred', false],
  ])('a recipient answered with %i is %s (permanent: %s)', async (code, reason, permanent) => {
    await using server = await startSmtpServer({ onRcptTo: (_a, _s, done) => done(smtpError(code, 'mailbox says no')) })
    const failure = await failureOf(createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}` }).send(mail))
    expect(failure).toMatchObject({ reason, permanent, message: expect.stringContaining(`${code}`) })
    expect(failure.message).toContain('mailbox says no')
  })

  test.each([
    ['onMailFrom', 553, true],
    ['onMailFrom', 451, false],
    ['onData', 554, true],
    ['onData', 452, false],
  ] as const)('%s answered with %i (permanent: %s)', async (at, code, permanent) => {
    const answer = smtpError(code, 'no')
    await using server = await startSmtpServer(
      at === 'onMailFrom'
        ? { onMailFrom: (_a, _s, done) => done(answer) }
        : { onData: (stream, _s, done) => void stream.resume().on('end', () => done(answer)) },
    )
    expect(await failureOf(createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}` }).send(mail))).toMatchObject({ permanent })
  })

  test('a refused login is a temporary failure without the password', async () => {
    await using server = await startSmtpServer({
      authOptional: false,
      onAuth: ({ username, password }, _session, done) =>
        password === 'right' ? done(null, { user: username }) : done(smtpError(535, `no user ${username} with ${password}`)),
    })
    await createMailer({ smtpUrl: `smtp://ada:right@127.0.0.1:${server.port}` }).send(mail)
    expect(server.mails).toMatchObject([{ user: 'ada' }])

    const failure = await failureOf(createMailer({ smtpUrl: `smtp://ada:${canary}@127.0.0.1:${server.port}` }).send(mail))
    expect(failure).toMatchObject({ reason: 'login', permanent: false })
    expect(`${failure.stack}${JSON.stringify(failure)}${failure.cause}`).not.toContain(canary)
    expect(failure.message).toContain('[secret]')
  })

  test('connection refused', async () => {
    const server = await startSmtpServer()
    await server[Symbol.asyncDispose]()
    const failure = await failureOf(createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}` }).send(mail))
    expect(failure).toMatchObject({ reason: 'unreachable', permanent: false, message: expect.stringContaining('ECONNREFUSED') })
  })

  const silent = async (greeting = '') => {
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}))
      socket.write(greeting)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const close = () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
    return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: close }
  }

  test.each(['', '220 hello\r\n'])('a server that sends %j and then nothing', async (greeting) => {
    using server = await silent(greeting)
    const failure = await failureOf(createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}`, timeoutMs: 150 }).send(mail))
    expect(failure).toMatchObject({ reason: 'timed_out', permanent: false })
  })

  test('an abort ends the call with the reason of the caller', async () => {
    using server = await silent()
    const abort = new AbortController()
    const sending = createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}` }).send(mail, abort.signal)
    abort.abort(new Error('lease lost'))
    expect(await failureOf(sending)).toMatchObject({ message: 'lease lost' })
  })

  test('a connection that breaks during the mail is not retried', async () => {
    let conversations = 0
    const server = createServer((socket) => {
      conversations += 1
      socket.on('error', () => {})
      socket.on('data', (line) => (line.toString().startsWith('MAIL') ? socket.destroy() : socket.write('250 fine\r\n')))
      socket.write('220 hello\r\n')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const smtpUrl = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
    const failure = await failureOf(createMailer({ smtpUrl }).send(mail))
    server.close()
    expect(failure).toMatchObject({ reason: 'unreachable', permanent: false })
    expect(conversations).toBe(1)
  })
})
