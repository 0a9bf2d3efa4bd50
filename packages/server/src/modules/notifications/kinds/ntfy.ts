import { clamp, oneLine } from './clamp.ts'
import { ConfigFields } from './config-fields.ts'
import type { ChannelKind } from './kind.ts'
import { categoryLabel, type Message, ownerText } from './message.ts'
import { post } from './post.ts'
import { webLink, webUrl } from './web-link.ts'

type Config = { server: string; topic: string }
type Secrets = { token?: string }

export const ntfy: ChannelKind<Config, Secrets> = {
  kind: 'ntfy',
  documented: false,

  checkConfig(input, _settings, previous) {
    const fields = new ConfigFields(input)
    const server = fields.optionalText('server', 2_048) ?? 'https://ntfy.sh'
    const url = webUrl(server)
    if (server && !url) fields.refuse('server', 'must be a URL that starts with http:// or https://')
    if (url && (url.username || url.password || url.pathname !== '/' || url.search))
      fields.refuse('server', 'must be the URL of a server without a path, a login or a query')
    const topic = fields.text('topic', 64)
    if (topic && !/^[\w-]+$/.test(topic)) fields.refuse('topic', 'may contain only letters, digits, - and _')
    const token =
      fields.optionalText('token', 256) ?? (sameServer(server, previous?.config.server) ? previous?.secrets.token : undefined)
    return fields.problems.length > 0 || !url
      ? { ok: false, problems: fields.problems }
      : { ok: true, config: { server: url.origin, topic }, secrets: token ? { token } : {} }
  },

  redact: ({ server, topic }, { token }) => ({ server, topic, hasToken: token !== undefined }),

  sameConfig: (a, b) =>
    a.config.server === b.config.server && a.config.topic === b.config.topic && a.secrets.token === b.secrets.token,

  async deliver(message, { server, topic }, { token }, { webRequest }, abort) {
    const body = JSON.stringify({ topic, ...ntfyPayload(message) })
    const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {}
    const rules = { receiver: 'The ntfy server', permanentStatuses: [400, 401, 403, 404, 413] }
    await post(webRequest, { url: `${server}/`, headers, body, secrets: token ? [token] : [], ...rules }, abort)
  },
}

/** A token belongs to its server and is not sent to another one. */
const sameServer = (a: string, b: string | undefined) => webUrl(a)?.origin === webUrl(b)?.origin

/** The message, limited to 4,096 bytes: the server turns longer ones into attachments. */
export function ntfyPayload(message: Message): object {
  const text = [message.text.trim(), ownerText(message)].filter(Boolean).join('\n\n')
  return {
    title: clamp(oneLine(message.subject) || categoryLabel(message.category), 250),
    message: clamp(text || categoryLabel(message.category), 4_096, { measure: Buffer.byteLength }),
    click: webLink(message.url),
  }
}
