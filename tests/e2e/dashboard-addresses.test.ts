import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPage, signIn } from '../kit/browser-page.ts'
import { readBundleSizes } from '../kit/bundle-sizes.ts'
import { launchChromium } from '../kit/chromium.ts'
import { addressesOf, type Filled, fillInstance } from '../kit/filled-instance.ts'
import { type Hosting, ownerSignIn, startHosting } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

test('the first load is under 200 kB of compressed script, and a page under 60 kB more', () => {
  const { firstLoadBytes, pageBytes } = readBundleSizes('src/pages/projects/projects-page.tsx')
  expect(firstLoadBytes).toBeLessThan(200_000)
  expect(Object.keys(pageBytes).length).toBeGreaterThan(25)
  expect(Object.entries(pageBytes).filter(([, bytes]) => bytes >= 60_000)).toEqual([])
})

describeNeeding(['chromium'], 'every address of the dashboard', () => {
  let hosting: Hosting
  let browser: Browser
  let filled: Filled
  beforeAll(async () => {
    hosting = await startHosting()
    filled = await fillInstance(hosting)
    browser = await launchChromium(partOf('chromium'))
  })
  afterAll(async () => {
    await browser?.close()
    await hosting?.[Symbol.asyncDispose]()
  })

  test.each(['light', 'dark'] as const)(
    'at a desk, %s: axe finds nothing, no console error, no failed request, no other host',
    async (colorScheme) => {
      await using opened = await openPage(browser, {
        url: hosting.berth.url,
        colorScheme,
        viewport: { width: 1280, height: 900 },
      })
      const { page, problems } = opened
      const found: string[] = []
      const look = async (address: string) => {
        await show(page, address)
        found.push(...(await violations(page)).map((one) => `${address}: ${one}`))
      }
      await look('/sign-in')
      await look(new URL(filled.invitationUrl).pathname)
      await look('/setup?code=none')
      await signIn(page, ownerSignIn)
      for (const address of Object.values(addressesOf(filled))) await look(address)
      expect(found).toEqual([])
      expect(problems).toEqual([])
    },
    400_000,
  )

  test('at 360 px nothing scrolls sideways', async () => {
    await using opened = await openPage(browser, { url: hosting.berth.url, viewport: { width: 360, height: 740 } })
    const { page, problems } = opened
    await signIn(page, ownerSignIn)
    const wide: string[] = []
    for (const address of Object.values(addressesOf(filled))) {
      await show(page, address)
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      if (excess > 0) wide.push(`${address}: ${excess} px`)
    }
    expect(wide).toEqual([])
    expect(problems).toEqual([])
  }, 300_000)

  test('the page lets in no script and no style but its own', async () => {
    const { headers } = await fetch(`${hosting.berth.url}/projects/anything`)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(policy).toMatch(/style-src 'self' 'nonce-[\w-]{20,}';/)
    expect(policy).not.toContain('unsafe')
    const again = await fetch(`${hosting.berth.url}/index.html`)
    expect(again.headers.get('content-security-policy')).not.toBe(policy)
  })
})

async function show(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.locator('h1').first().waitFor()
  await expect.poll(() => page.locator('[role=status][aria-label=Loading]').count()).toBe(0)
}

/** What axe, by the rules of WCAG 2.2 AA, finds on the page as it is. */
async function violations(page: Page): Promise<string[]> {
  // Evaluated by the debugger, not added as a script: the page's own policy would refuse one.
  await page.evaluate(axeSource)
  return page.evaluate(async () => {
    const axe = (window as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }).axe
    interface Violation {
      id: string
      nodes: { target: string[]; failureSummary?: string }[]
    }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
    const { violations } = await axe.run({ runOnly: { type: 'tag', values: tags } })
    return violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    )
  })
}
