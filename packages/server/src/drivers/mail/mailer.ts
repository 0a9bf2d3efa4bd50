import { getCACertificates } from 'node:tls'
import type { NodemailerError } from 'nodemailer'
import MailComposer from 'nodemailer/lib/mail-composer'
import SMTPConnection, { type SMTPEnvelope } from 'nodemailer/lib/smtp-connection'
import type { Secret } from '../../platform/secrets/secret.ts'
import { MailFailed, mailFailure } from './mail-failed.ts'
import { parseSmtpUrl, type SmtpSettings } from './smtp-url.ts'

export interface Mail {
  to: string
  subject: string
  text: string
  html: string
  /** The same at every attempt, so that a mailbox shows one mail even if the server's last response was lost. */
  messageId: string
}

export interface Mailer {
  readonly configured: boolean
  /** Resolves once the mail server has accepted the mail; rejects with MailFailed, or with the abort reason. */
  send(mail: Mail, abort?: AbortSignal): Promise<void>
}

export interface MailerOptions {
  smtpUrl: Secret | string | null | undefined
  from?: string
  /** Limit for the whole SMTP session. */
  timeoutMs?: number
  /** PEM certificates trusted in addition to the system's. */
  ca?: string
}

/** Throws SmtpUrlInvalid for an invalid URL. */
export function createMailer({ smtpUrl, from, timeoutMs = 30_000, ca }: MailerOptions): Mailer {
  if (!smtpUrl) return { configured: false, send: () => Promise.reject(notConfigured()) }
  const settings = parseSmtpUrl(typeof smtpUrl === 'string' ? smtpUrl : smtpUrl.reveal(), from)
  return {
    configured: true,
    async send(mail, abort) {
      abort?.throwIfAborted()
      const { envelope, bytes } = await compose(mail, settings)
      await sendOnConnection(envelope, bytes, { settings, timeoutMs, ca, abort })
    },
  }
}

const notConfigured = () =>
  new MailFailed('not_configured', 'This instance has no mail server. Its operator can set BERTH_SMTP_URL.')

/**
 * Composes the mail. Addresses are passed as values, not as text to parse, and header values contain no line breaks, so nothing
 * can be injected.
 */
async function compose(mail: Mail, { from }: SmtpSettings) {
  const recipient = mail.to.trim()
  if (/[\s\p{Cc}<>,;"]/u.test(recipient) || !recipient.includes('@')) {
    throw new MailFailed('invalid_mail', 'Invalid e-mail address')
  }
  const composer = new MailComposer({
    from,
    to: { name: '', address: recipient },
    subject: headerValue(mail.subject),
    messageId: `<${mail.messageId.replace(/[^\w.+-]/g, '')}@${from.address.split('@').at(-1)}>`,
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    text: mail.text,
    html: mail.html,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const bytes = await composer.compile().build()
  return { envelope: { from: from.address, to: [recipient], size: bytes.length }, bytes }
}

const headerValue = (text: string) => text.replace(/[\s\p{Cc}]+/gu, ' ').trim()

interface SendContext {
  settings: SmtpSettings
  timeoutMs: number
  ca: string | undefined
  abort: AbortSignal | undefined
}

/** Sends a mail on its own connection. The library's pool is not used, because it resends a mail when a connection breaks. */
async function sendOnConnection(envelope: SMTPEnvelope, bytes: Buffer, context: SendContext) {
  const { settings, timeoutMs, ca, abort } = context
  abort?.throwIfAborted()
  const connection = new SMTPConnection(connectionOptions(settings, timeoutMs, ca))
  const { promise: broken, reject } = Promise.withResolvers<never>()
  const secrets = settings.login ? secretForms(settings.login) : []
  const stop = () => reject(abort?.reason)
  const timer = setTimeout(() => reject(new MailFailed('timed_out', 'The mail server timed out')), timeoutMs)
  const step = <T>(start: (done: (error?: NodemailerError | null, result?: T) => void) => void) =>
    Promise.race([new Promise<void>((resolve, fail) => start((error) => (error ? fail(error) : resolve()))), broken])
  connection.on('error', reject)
  abort?.addEventListener('abort', stop, { once: true })
  try {
    await step((done) => connection.connect(done))
    if (settings.login && connection.allowsAuth) await step((done) => connection.login({ credentials: settings.login }, done))
    await step((done) => connection.send(envelope, bytes, done))
    connection.quit()
  } catch (error) {
    connection.close()
    abort?.throwIfAborted()
    throw error instanceof MailFailed ? error : mailFailure(error as NodemailerError, secrets)
  } finally {
    clearTimeout(timer)
    abort?.removeEventListener('abort', stop)
  }
}

function connectionOptions(settings: SmtpSettings, timeoutMs: number, ca: string | undefined) {
  return {
    host: settings.host,
    port: settings.port,
    secure: settings.secure,
    requireTLS: settings.requireTls,
    ...(settings.servername ? { servername: settings.servername } : {}),
    tls: { rejectUnauthorized: settings.verifyCertificate, ...(ca ? { ca: [...getCACertificates(), ca] } : {}) },
    connectionTimeout: Math.min(timeoutMs, 10_000),
    greetingTimeout: Math.min(timeoutMs, 10_000),
    dnsTimeout: Math.min(timeoutMs, 10_000),
    socketTimeout: timeoutMs,
    maxResponseSize: 64 * 1024,
  }
}

/** Encoded forms of the login, to be removed from server responses before they are stored. */
function secretForms({ user, pass }: { user: string; pass: string }): string[] {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return [pass, base64(pass), base64(`\0${user}\0${pass}`), encodeURIComponent(pass)].filter((form) => form.length > 0)
}
