import type { Mailer } from '../../../drivers/mail/mailer.ts'
import { parseSmtpUrl, SmtpUrlInvalid } from '../../../drivers/mail/smtp-url.ts'
import { createWebRequest } from '../../../drivers/web-request/web-request.ts'
import { ConfigError } from '../../../platform/config-error.ts'
import type { Secret } from '../../../platform/secrets/secret.ts'
import type { NotificationsDeps } from '../deps.ts'

export interface DeliverySettings {
  allowPrivateWebhooks: boolean
  smtpUrl: Secret | null
}

/** The real drivers, from the instance's settings. Throws ConfigError for an invalid setting. */
export function createDeliveryDrivers({ allowPrivateWebhooks, smtpUrl }: DeliverySettings): NotificationsDeps['drivers'] {
  if (smtpUrl) checkSmtpUrl(smtpUrl)
  return { webRequest: createWebRequest({ allowPrivate: allowPrivateWebhooks }), mailer: mailerWhenNeeded(smtpUrl) }
}

function checkSmtpUrl(smtpUrl: Secret): void {
  try {
    parseSmtpUrl(smtpUrl.reveal())
  } catch (error) {
    if (!(error instanceof SmtpUrlInvalid)) throw error
    throw new ConfigError('BERTH_SMTP_URL', `BERTH_SMTP_URL is invalid: it ${error.message}`)
  }
}

/** The mail library is loaded with the first mail: many instances never send one, and the start stays quick. */
function mailerWhenNeeded(smtpUrl: Secret | null): Mailer {
  let loaded: Promise<Mailer> | undefined
  const load = async () => (await import('../../../drivers/mail/mailer.ts')).createMailer({ smtpUrl })
  return {
    configured: smtpUrl !== null,
    async send(mail, abort) {
      loaded ??= load()
      await (await loaded).send(mail, abort)
    },
  }
}
