import { clamp, oneLine } from './clamp.ts'
import { ConfigFields } from './config-fields.ts'
import type { ChannelKind } from './kind.ts'
import { categoryLabel, type Message, ownerText } from './message.ts'
import { post } from './post.ts'
import { webLink } from './web-link.ts'

type Config = { chatId: string }
type Secrets = { botToken: string }

export const telegram: ChannelKind<Config, Secrets> = {
  kind: 'telegram',
  documented: false,

  checkConfig(input, _settings, previous) {
    const fields = new ConfigFields(input)
    const chatId = fields.text('chatId', 64)
    if (chatId && !/^(-?\d{1,20}|@\w{4,32})$/.test(chatId)) fields.refuse('chatId', 'must be a chat id or the @name of a channel')
    const previousToken = previous?.secrets.botToken
    const requestedToken = fields.optionalText('botToken', 256)
    const botToken =
      requestedToken === undefined || (previousToken && requestedToken === redactedToken(previousToken))
        ? previousToken
        : requestedToken
    if (!botToken) fields.refuse('botToken', 'is required')
    else if (!/^\d{3,20}:[\w-]{20,128}$/.test(botToken)) fields.refuse('botToken', 'must be the bot token from Telegram')
    return fields.problems.length > 0 || !botToken
      ? { ok: false, problems: fields.problems }
      : { ok: true, config: { chatId }, secrets: { botToken } }
  },

  redact: ({ chatId }, { botToken }) => ({ chatId, botToken: redactedToken(botToken) }),

  sameConfig: (a, b) => a.config.chatId === b.config.chatId && a.secrets.botToken === b.secrets.botToken,

  async deliver(message, { chatId }, { botToken }, { webRequest, telegramApi = 'https://api.telegram.org' }, abort) {
    const url = `${telegramApi}/bot${botToken}/sendMessage`
    const body = JSON.stringify({ chat_id: chatId, text: telegramText(message), link_preview_options: { is_disabled: true } })
    const rules = { receiver: 'Telegram', permanentStatuses: [400, 401, 403, 404], messageAt: { field: 'description' } } as const
    await post(webRequest, { url, body, secrets: [botToken], ...rules }, abort)
  },
}

const redactedToken = (token: string) => `••••••••${token.slice(-4)}`

/** Plain text, so no markup is interpreted. The text is shortened to keep the link whole. */
export function telegramText(message: Message): string {
  const subject = oneLine(message.subject) || categoryLabel(message.category)
  const footer = [ownerText(message), webLink(message.url) ?? ''].filter(Boolean).join('\n')
  const maxTextLength = 4_096 - footer.length - 2
  return [clamp(`${subject}\n\n${message.text.trim()}`.trim(), Math.max(maxTextLength, 200)), footer]
    .filter(Boolean)
    .join('\n\n')
    .slice(0, 4_096)
}
