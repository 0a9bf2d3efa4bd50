import { ConfigFields } from './config-fields.ts'
import type { ChannelKind } from './kind.ts'
import { post } from './post.ts'
import { webUrl } from './web-link.ts'
import { newSigningSecret, signatureOf } from './webhook-signature.ts'

type Config = { url: string }
type Secrets = { secret: string }

export const webhook: ChannelKind<Config, Secrets> = {
  kind: 'webhook',
  documented: true,

  /** The target address is checked at every delivery, because a host name can resolve to another address by then. */
  checkConfig(input, _settings, previous) {
    const fields = new ConfigFields(input)
    const url = fields.optionalText('url', 2_048) ?? previous?.config.url ?? fields.refuse('url', 'is required')
    const parsed = /^https?:\/\/[^/\\]/i.test(url) ? webUrl(url) : null
    if (url && !parsed) fields.refuse('url', 'must be a URL that starts with http:// or https://')
    if (parsed?.username || parsed?.password) fields.refuse('url', 'must not contain a user name or password')
    const requestedSecret = fields.optionalText('secret', 256)
    if (fields.problems.length > 0) return { ok: false, problems: fields.problems }
    const knownSecret = requestedSecret ?? previous?.secrets.secret
    if (knownSecret) return { ok: true, config: { url }, secrets: { secret: knownSecret } }
    const secret = newSigningSecret()
    return { ok: true, config: { url }, secrets: { secret }, shownOnce: { secret } }
  },

  redact: ({ url }) => ({ url, hasSecret: true }),

  sameConfig: (a, b) => webUrl(a.config.url)?.href === webUrl(b.config.url)?.href && a.secrets.secret === b.secrets.secret,

  async deliver(message, { url }, { secret }, { webRequest, now }, abort) {
    const { id, category, organizationId, projectId, subject, text, createdAt } = message
    const data = { ...(projectId === undefined ? {} : { projectId }), ...message.data }
    const body = JSON.stringify({ id, category, organizationId, subject, text, data, createdAt })
    const headers = { 'berth-event': category, 'berth-delivery': id, 'berth-signature': signatureOf(secret, body, now()) }
    // Only 410 (gone) is final: any other status may come from a receiver that is being deployed, and retries are promised.
    await post(webRequest, { url, headers, body, receiver: 'The receiver', permanentStatuses: [410], secrets: [secret] }, abort)
  },
}
