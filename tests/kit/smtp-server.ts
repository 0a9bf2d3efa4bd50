import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type ParsedMail, simpleParser } from 'mailparser'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail extends ParsedMail {
  /** Recipients in the SMTP envelope, which may differ from the headers. */
  recipients: string[]
}

export interface MailOptions {
  /** Required for signing in; without it, signing in is not offered. */
  credentials?: { user: string; password: string }
  /** Rejects a recipient, with a reason. */
  refuse?(recipient: string): string | undefined
}

export interface MailServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly mails: ReceivedMail[]
  /** The first matching mail, including one that has already arrived. */
  nextMail(fits?: (mail: ReceivedMail) => boolean, withinMs?: number): Promise<ReceivedMail>
  close(): Promise<void>
}

/** A real SMTP server on loopback that keeps the received mails. */
export async function startMailServer({ credentials, refuse }: MailOptions = {}): Promise<MailServer> {
  const mails: ReceivedMail[] = []
  const arrivals = new EventTarget()
  const server = new SMTPServer({
    authOptional: !credentials,
    disabledCommands: credentials ? ['STARTTLS'] : ['STARTTLS', 'AUTH'],
    allowInsecureAuth: true,
    closeTimeout: 500,
    onAuth({ username, password }, _session, done) {
      if (username === credentials?.user && password === credentials?.password) done(null, { user: username! })
      else done(new Error('wrong user or password'))
    },
    onRcptTo({ address }, _session, done) {
      const reason = refuse?.(address)
      done(reason ? Object.assign(new Error(reason), { responseCode: 550 }) : null)
    },
    onData(stream, session, done) {
      simpleParser(stream).then((mail) => {
        mails.push({ ...mail, recipients: session.envelope.rcptTo.map(({ address }) => address) })
        arrivals.dispatchEvent(new Event('mail'))
        done()
      }, done)
    },
  })
  // A client that disconnects in the middle is part of a test and must not end the server.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  const close = () => new Promise<void>((resolve) => server.close(resolve))
  return {
    url: `smtp://${credentials ? `${credentials.user}:${credentials.password}@` : ''}127.0.0.1:${port}`,
    port,
    mails,
    async nextMail(fits = () => true, withinMs = 50_000) {
      const signal = AbortSignal.timeout(withinMs)
      for (;;) {
        const mail = mails.find(fits)
        if (mail) return mail
        await once(arrivals, 'mail', { signal })
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}
