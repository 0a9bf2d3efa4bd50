import type { NodemailerError } from 'nodemailer'

export type MailFailureReason =
  | 'not_configured'
  | 'invalid_mail'
  | 'rejected'
  | 'deferred'
  | 'login'
  | 'tls'
  | 'unreachable'
  | 'timed_out'

/**
 * `permanent`: the same mail would be rejected again. False for problems that an operator can fix (login, TLS): the mail is
 * retried.
 */
export class MailFailed extends Error {
  override readonly name = 'MailFailed'
  readonly reason: MailFailureReason
  readonly permanent: boolean

  constructor(reason: MailFailureReason, message: string) {
    super(message)
    this.reason = reason
    this.permanent = reason === 'not_configured' || reason === 'invalid_mail' || reason === 'rejected'
  }
}

/** The message contains the server's response, shortened to one line and without the login. */
export function mailFailure(error: NodemailerError, secrets: readonly string[]): MailFailed {
  const serverText = error.response ? `: ${oneLine(error.response, secrets)}` : ''
  if (error.code === 'EAUTH' || error.responseCode === 530 || error.responseCode === 535) {
    return new MailFailed('login', `The mail server does not accept the configured user name and password${serverText}`)
  }
  if (error.responseCode && !error.permanent)
    return new MailFailed('deferred', `The mail server temporarily rejected the mail${serverText}`)
  if (mailCommands.test(error.command ?? '') || error.code === 'EENVELOPE' || error.code === 'EMESSAGE') {
    return new MailFailed('rejected', `The mail server rejected the mail${serverText}`)
  }
  if (error.code === 'ETLS' || certificateCodes.test(error.originalCode ?? '')) {
    const code = certificateCodes.test(error.originalCode ?? '') ? ` (${error.originalCode})` : ''
    return new MailFailed('tls', `No trusted encrypted connection to the mail server could be made${code}${serverText}`)
  }
  if (error.code === 'ETIMEDOUT') return new MailFailed('timed_out', 'The mail server timed out')
  const code = error.originalCode ?? error.code
  return new MailFailed('unreachable', `The mail server is unreachable${code ? ` (${code})` : ''}${serverText}`)
}

const mailCommands = /^(MAIL FROM|RCPT TO|DATA)/
const certificateCodes = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|EPROTO)/

function oneLine(text: string, secrets: readonly string[]): string {
  const scrubbed = secrets.reduce((line, secret) => line.replaceAll(secret, '[secret]'), text)
  return scrubbed
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, 200)
}
