import type { AddressInfo } from 'node:net'
import { type ParsedMail, simpleParser } from 'mailparser'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { testServerCertificate } from '../web-request/test-receiver.ts'

export interface ReceivedMail {
  parsed: ParsedMail
  raw: string
  from: string
  to: string[]
  /** The connection was encrypted when the mail came. */
  secure: boolean
  user: unknown
}

/** A real SMTP server on loopback that records received mails. For tests only. */
export interface TestSmtpServer extends AsyncDisposable {
  readonly port: number
  readonly mails: ReceivedMail[]
}

export async function startSmtpServer(options: SMTPServerOptions = {}): Promise<TestSmtpServer> {
  const mails: ReceivedMail[] = []
  const server = new SMTPServer({
    ...testServerCertificate,
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 10,
    async onData(stream, session, done) {
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk)
      const bytes = Buffer.concat(chunks)
      const { mailFrom, rcptTo } = session.envelope
      mails.push({
        parsed: await simpleParser(bytes),
        raw: bytes.toString(),
        from: mailFrom ? mailFrom.address : '',
        to: rcptTo.map(({ address }) => address),
        secure: session.secure,
        user: session.user,
      })
      done()
    },
    ...options,
  })
  server.on('error', () => {}) // a client that leaves in the middle is part of the tests
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(resolve)),
  }
}

/** A refusal with the SMTP code of the test's choice. */
export const smtpError = (responseCode: number, message: string) => Object.assign(new Error(message), { responseCode })
