import { chatUrlOf, redactedChatUrl } from './chat-url.ts'
import { clamp, oneLine } from './clamp.ts'
import { ConfigFields } from './config-fields.ts'
import type { ChannelKind } from './kind.ts'
import { categoryLabel, type Message, ownerText } from './message.ts'
import { post } from './post.ts'
import { webLink } from './web-link.ts'

type Config = Record<string, never>
type Secrets = { webhookUrl: string }

const ownHosts = ['discord.com', 'discordapp.com', 'canary.discord.com', 'ptb.discord.com']

export const discord: ChannelKind<Config, Secrets> = {
  kind: 'discord',
  documented: false,

  checkConfig(input, { discordHost }, previous) {
    const fields = new ConfigFields(input)
    const hosts = discordHost ? [discordHost] : ownHosts
    const webhookUrl = chatUrlOf(fields, { hosts, provider: 'Discord', previous: previous?.secrets.webhookUrl })
    return fields.problems.length > 0
      ? { ok: false, problems: fields.problems }
      : { ok: true, config: {}, secrets: { webhookUrl } }
  },

  redact: (_config, { webhookUrl }) => ({ webhookUrl: redactedChatUrl(webhookUrl) }),

  sameConfig: (a, b) => a.secrets.webhookUrl === b.secrets.webhookUrl,

  async deliver(message, _config, { webhookUrl }, { webRequest }, abort) {
    const url = new URL(webhookUrl)
    url.searchParams.set('wait', 'true') // else it answers before it knows whether the message can be posted
    const rules = { receiver: 'Discord', permanentStatuses: [400, 401, 403, 404], messageAt: { field: 'message' } } as const
    const secrets = [webhookUrl, url.pathname, url.pathname.split('/').at(-1) ?? '']
    await post(webRequest, { url: url.href, body: JSON.stringify(discordPayload(message)), secrets, ...rules }, abort)
  },
}

export function discordPayload(message: Message): object {
  const label = categoryLabel(message.category)
  const embed = {
    title: clamp(oneLine(message.subject) || label, 256, { encode }),
    description: clamp(message.text.trim(), 4_096, { encode }),
    url: webLink(message.url),
    timestamp: message.createdAt,
    footer: { text: clamp([label, ownerText(message)].filter(Boolean).join(' · '), 500) },
  }
  return { embeds: [embed], allowed_mentions: { parse: [] } }
}

const encode = (character: string) => (/[\\*_~`|>#<@[\]()]/.test(character) ? `\\${character}` : character)
