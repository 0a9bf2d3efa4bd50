import { domainToASCII } from 'node:url'
import { MailFailed } from '../../../drivers/mail/mail-failed.ts'
import { ConfigFields } from './config-fields.ts'
import { type ChannelKind, DeliveryFailed } from './kind.ts'
import { renderMail } from './mail-template.ts'

type Config = { address: string }
type Secrets = Record<string, never>

export const email: ChannelKind<Config, Secrets> = {
  kind: 'email',
  documented: true,

  checkConfig(input) {
    const fields = new ConfigFields(input)
    const address = fields.text('address', 254)
    if (address && !isMailAddress(address)) fields.refuse('address', 'must be a well-formed e-mail address')
    return fields.problems.length > 0
      ? { ok: false, problems: fields.problems }
      : { ok: true, config: { address: withLowerCaseDomain(address) }, secrets: {} }
  },

  redact: ({ address }) => ({ address }),

  sameConfig: (a, b) => a.config.address === b.config.address,

  async deliver(message, { address }, _secrets, { mailer }, abort) {
    await mailer.send({ to: address, messageId: message.id, ...renderMail(message, address) }, abort).catch((error: unknown) => {
      throw error instanceof MailFailed ? new DeliveryFailed(error.message, { permanent: error.permanent }) : error
    })
  },
}

const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const domain = /^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/

/**
 * Address forms that all common mail servers accept: no comments, no quoted local part, a domain with a dot (or in another
 * script).
 */
function isMailAddress(address: string): boolean {
  const [local = '', host = '', ...rest] = address.split('@')
  return (
    rest.length === 0 &&
    local.length <= 64 &&
    localPart.test(local) &&
    !/[^\p{L}\p{M}\p{N}.-]/u.test(host) &&
    domain.test(domainToASCII(host))
  )
}

const withLowerCaseDomain = (address: string) => address.replace(/@.*$/, (host) => host.toLowerCase())
