import { chatUrlOf, redactedChatUrl } from './chat-url.ts'
import { clamp, oneLine } from './clamp.ts'
import { ConfigFields } from './config-fields.ts'
import type { ChannelKind } from './kind.ts'
import { categoryLabel, entriesOf, type Message, ownerText } from './message.ts'
import { post } from './post.ts'
import { webLink } from './web-link.ts'

type Config = Record<string, never>
type Secrets = { webhookUrl: string }

export const slack: ChannelKind<Config, Secrets> = {
  kind: 'slack',
  documented: true,

  checkConfig(input, { slackHost = 'hooks.slack.com' }, previous) {
    const fields = new ConfigFields(input)
    const webhookUrl = chatUrlOf(fields, { hosts: [slackHost], provider: 'Slack', previous: previous?.secrets.webhookUrl })
    return fields.problems.length > 0
      ? { ok: false, problems: fields.problems }
      : { ok: true, config: {}, secrets: { webhookUrl } }
  },

  redact: (_config, { webhookUrl }) => ({ webhookUrl: redactedChatUrl(webhookUrl) }),

  sameConfig: (a, b) => a.secrets.webhookUrl === b.secrets.webhookUrl,

  async deliver(message, _config, { webhookUrl }, { webRequest }, abort) {
    const body = JSON.stringify(slackPayload(message))
    const rules = { receiver: 'Slack', permanentStatuses: [400, 403, 404, 410], messageAt: 'whole body' } as const
    await post(webRequest, { url: webhookUrl, body, secrets: [webhookUrl, new URL(webhookUrl).pathname], ...rules }, abort)
  },
}

/** Slack's limits: it rejects a message that exceeds them. */
const limits = { header: 150, section: 3_000, blocks: 50, fallback: 1_000, context: 500 }
/** Maximum characters per digest entry, as Slack also limits the whole message. */
const digestEntry = 200

export function slackPayload(message: Message): { text: string; blocks: object[] } {
  const { entries, more } = entriesOf(message)
  const url = webLink(message.url)
  const title = oneLine(message.subject) || categoryLabel(message.category)
  const context = [categoryLabel(message.category), ownerText(message)].filter(Boolean).join(' · ')
  const footerBlocks = [
    { type: 'context', elements: [mrkdwn(clamp(context, limits.context, { encode }))] },
    ...(url && url.length <= 3_000 ? [{ type: 'actions', elements: [linkButton(url)] }] : []),
  ]
  const maxEntries = limits.blocks - 2 - footerBlocks.length
  const shownEntries = entries.slice(0, maxEntries)
  const hiddenCount = more + entries.length - shownEntries.length
  return {
    text: clamp(title, limits.fallback, { encode }),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: clamp(title, limits.header), emoji: false } },
      ...shownEntries
        .map((entry) => sectionText(entry, message.joined !== undefined))
        .flatMap((text) => (text ? [section(text)] : [])),
      ...(hiddenCount > 0 ? [section(`… and ${hiddenCount} more`)] : []),
      ...footerBlocks,
    ],
  }
}

const mrkdwn = (text: string) => ({ type: 'mrkdwn', text, verbatim: true })
const section = (text: string) => ({ type: 'section', text: mrkdwn(text) })
const linkButton = (url: string) => ({ type: 'button', text: { type: 'plain_text', text: 'Open in Berth' }, url })

function sectionText({ subject, text }: Message, inDigest: boolean): string {
  const trimmed = text.trim()
  return inDigest
    ? clamp([oneLine(subject), trimmed].filter(Boolean).join('\n'), digestEntry, { encode })
    : clamp(trimmed, limits.section, { encode })
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const encode = (character: string) => entities[character] ?? character
