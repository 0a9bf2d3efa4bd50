import { describe, expect, test } from 'vitest'
import { renderMail } from './mail-template.ts'
import { joinMessages } from './message.ts'
import { exampleMessage } from './test-delivery.ts'

const hostile = `<script>alert(1)</script>"'&<img src=x onerror=y>`
const errorText = (html: string) =>
  html
    .replace(/<head>[\s\S]*<\/head>/, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .trim()

describe('text and HTML come from one template', () => {
  const { subject, text, html } = renderMail(
    exampleMessage({ settingsUrl: 'https://berth.example.com/settings' }),
    'ada@example.org',
  )

  test('the complete mail', () => {
    expect(subject).toBe('Deployment 12 of shop failed')
    expect(text).toBe(`Deployment 12 of shop failed

shop · Harbour & Sons

The health check did not pass.

Last status: 502

Open in Berth: https://berth.example.com/projects/prj_1

--${' '}

You get this because “Deployment failed” of Harbour & Sons is on for ada@example.org. It can be turned off in Berth under Notifications.

Change your notifications: https://berth.example.com/settings
`)
  })

  test('text and HTML have the same content', () => {
    for (const line of text.split('\n').filter((it) => it && it !== '-- ' && !it.includes('https:')))
      expect(errorText(html)).toContain(line)
    expect(html).toContain('<a href="https://berth.example.com/projects/prj_1">Open in Berth</a>')
  })

  test('the HTML loads no image, style sheet, script or font', () => {
    expect(html).not.toMatch(/<(img|link|script|iframe)|url\(|@import|src=/i)
  })
})

describe('a message is escaped in HTML', () => {
  const message = exampleMessage({ subject: hostile, text: hostile, projectName: hostile, organizationName: hostile })
  const { html, text } = renderMail(message, 'ada@example.org')

  test('HTML is escaped everywhere', () => {
    expect(html).not.toMatch(/<script|<img/i)
    expect(html.match(/&lt;script&gt;/g)).toHaveLength(6)
    expect(text).toContain(hostile)
  })

  test.each(['javascript:alert(1)', 'data:text/html,x', 'not a url', 'https://example.com/"onclick="x'])(
    'a link to %s',
    (url) => {
      const rendered = renderMail(exampleMessage({ url, settingsUrl: url }), 'ada@example.org').html
      expect(rendered).not.toMatch(/javascript:|data:|"onclick/)
    },
  )
})

describe('a digest', () => {
  const message = joinMessages(
    Array.from({ length: 60 }, (_, at) => exampleMessage({ id: `ndl_${at}`, subject: `Deployment ${at} failed` })),
  )
  const { subject, text, html } = renderMail(message, 'ada@example.org')

  test('lists its events, and the number of further ones', () => {
    expect(subject).toBe('Deployment 0 failed, and 59 more')
    for (const body of [text, errorText(html)]) {
      expect(body).toContain('Deployment 49 failed')
      expect(body).not.toContain('Deployment 50 failed')
      expect(body).toContain('… and 10 more')
    }
  })
})

test('the subject is truncated, one line, and never empty', () => {
  expect(renderMail(exampleMessage({ subject: 'x'.repeat(1_000) }), 'a@b.c').subject).toHaveLength(150)
  expect(renderMail(exampleMessage({ subject: 'a\nb' }), 'a@b.c').subject).toBe('a b')
  expect(renderMail(exampleMessage({ subject: ' ' }), 'a@b.c').subject).toBe('Deployment failed')
})
