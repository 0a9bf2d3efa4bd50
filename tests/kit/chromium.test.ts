import { expect, test } from 'vitest'
import { launchChromium } from './chromium.ts'
import { serve } from './http-server.ts'
import { need } from './machine.ts'

test('the browser of the kit runs the scripts of a page on loopback', async () => {
  const path = need('chromium')
  const html = '<title>x</title><script>document.title = [1, 2].map((n) => n * 2).join()</script>'
  await using server = await serve((_request, response) => response.setHeader('content-type', 'text/html').end(html))
  await using browser = await launchChromium(path)
  const page = await browser.newPage()
  await page.goto(server.url)
  expect(await page.title()).toBe('2,4')
})
