import type { ConfigFields } from './config-fields.ts'

interface ChatUrlRules {
  /** `host` or `host:port`, any of them. */
  hosts: readonly string[]
  provider: string
  previous: string | undefined
}

/** An incoming-webhook URL is a secret as a whole. Its redacted form stands for the stored one. */
export function chatUrlOf(fields: ConfigFields, { hosts, provider, previous }: ChatUrlRules): string {
  const text = fields.text('webhookUrl', 2_048)
  if (previous && text === redactedChatUrl(previous)) return previous
  // The redacted form of another channel's URL would parse as an address, but nothing listens there.
  const url = text.includes('…') ? null : URL.parse(text)
  const fits =
    url?.protocol === 'https:' &&
    hosts.some((host) => new URL(`https://${host}`).host === url.host) &&
    url.pathname.length > 1 &&
    !url.username &&
    !url.password &&
    !url.hash
  return fits ? url.href : fields.refuse('webhookUrl', `must be an https incoming-webhook address of ${provider} on ${hosts[0]}`)
}

/** `https://hooks.slack.com/…abcd` */
export function redactedChatUrl(text: string): string {
  const { origin, pathname, search } = new URL(text)
  const secret = `${pathname}${search}`
  return `${origin}/…${secret.length > 12 ? secret.slice(-4) : ''}`
}
