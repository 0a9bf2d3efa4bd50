import { clamp, oneLine } from './clamp.ts'
import { categoryLabel, entriesOf, type Message, ownerText } from './message.ts'
import { webLink } from './web-link.ts'

/** Renders a mail. Both bodies are made from one list of blocks, so they have the same content. No images are used. */
export function renderMail(message: Message, address: string): { subject: string; text: string; html: string } {
  const blocks = blocksOf(message, address)
  const subject = clamp(oneLine(message.subject) || categoryLabel(message.category), 150)
  return { subject, text: `${blocks.map(asText).join('\n\n')}\n`, html: page(subject, blocks.map(asHtml).join('\n')) }
}

type Block =
  | { kind: 'title' | 'heading' | 'paragraph' | 'note'; text: string }
  | { kind: 'link'; label: string; url: string }
  | { kind: 'rule' }

function blocksOf(message: Message, address: string): Block[] {
  const { entries, more } = entriesOf(message)
  const url = webLink(message.url)
  const settingsUrl = webLink(message.settingsUrl)
  const owner = ownerText(message)
  const body = entries.flatMap((entry): Block[] => [
    ...(message.joined ? [{ kind: 'heading', text: oneLine(entry.subject) } as const] : []),
    ...paragraphsOf(entry.text),
  ])
  return [
    { kind: 'title', text: oneLine(message.subject) || categoryLabel(message.category) },
    ...(owner ? [{ kind: 'note', text: owner } as const] : []),
    ...body,
    ...(more > 0 ? [{ kind: 'paragraph', text: `… and ${more} more` } as const] : []),
    ...(url ? [{ kind: 'link', label: 'Open in Berth', url } as const] : []),
    { kind: 'rule' },
    { kind: 'note', text: whyOf(message, address) },
    ...(settingsUrl ? [{ kind: 'link', label: 'Change your notifications', url: settingsUrl } as const] : []),
  ]
}

function whyOf({ category, organizationName }: Message, address: string): string {
  const owner = organizationName ? ` of ${organizationName}` : ''
  if (category === 'test')
    return `A user${owner} entered ${address} in Berth to receive notifications. If you did not expect this, ignore this message.`
  return `You get this because “${categoryLabel(category)}”${owner} is on for ${address}. It can be turned off in Berth under Notifications.`
}

const paragraphsOf = (text: string): Block[] =>
  text
    .split(/\r?\n\s*\n/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => ({ kind: 'paragraph', text: paragraph.trimEnd() }))

function asText(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `* ${block.text}`
    case 'link':
      return `${block.label}: ${block.url}`
    case 'rule':
      return '-- '
    default:
      return block.text
  }
}

function asHtml(block: Block): string {
  switch (block.kind) {
    case 'title':
      return `<h1 style="font-size:20px;margin:0 0 8px">${escapeHtml(block.text)}</h1>`
    case 'heading':
      return `<h2 style="font-size:16px;margin:20px 0 4px">${escapeHtml(block.text)}</h2>`
    case 'paragraph':
      return `<p style="margin:0 0 12px;white-space:pre-wrap">${escapeHtml(block.text)}</p>`
    case 'note':
      return `<p style="margin:0 0 12px;font-size:13px;color:#6b7280">${escapeHtml(block.text)}</p>`
    case 'link':
      return `<p style="margin:0 0 12px"><a href="${escapeHtml(block.url)}">${escapeHtml(block.label)}</a></p>`
    case 'rule':
      return '<hr style="border:0;border-top:1px solid #d1d5db;margin:24px 0 12px">'
  }
}

const page = (title: string, body: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
</head>
<body style="margin:0;padding:24px;font:15px/1.5 system-ui,sans-serif">
<div style="max-width:600px;margin:0 auto;overflow-wrap:anywhere">
${body}
</div>
</body>
</html>
`

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character]!)
