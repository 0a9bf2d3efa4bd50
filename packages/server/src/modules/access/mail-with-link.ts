import type { Mail } from '../../drivers/mail/mailer.ts'

interface WithLink {
  subject: string
  lines: readonly string[]
  link: string
}

export const mailOf = ({ subject, lines, link }: WithLink): Pick<Mail, 'subject' | 'text' | 'html'> => ({
  subject,
  text: [...lines, link].join('\n\n'),
  html: `${lines.map((line) => `<p>${escaped(line)}</p>`).join('')}<p><a href="${escaped(link)}">${escaped(link)}</a></p>`,
})

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
