import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addAxe, violations } from '../kit/axe.ts'
import { openPage, signIn } from '../kit/browser-page.ts'
import { readBundleSizes } from '../kit/bundle-sizes.ts'
import { launchChromium } from '../kit/chromium.ts'
import { addressesOf, type Filled, fillInstance, frontAddressesOf, viewerSignIn } from '../kit/filled-instance.ts'
import { type Hosting, ownerSignIn, startHosting } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'

const desk = { width: 1280, height: 900 }
const phone = { width: 360, height: 740 }

test('the first load is under 200 kB of compressed script, and each page adds under 60 kB', () => {
  const { firstLoadBytes, pageBytes } = readBundleSizes()
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

  test('every page passes axe in both themes, fits 360 px, and causes no console error, failed request or request to another host', async () => {
    await using opened = await openPage(browser, { url: hosting.berth.url, viewport: desk, reducedMotion: 'reduce' })
    const { page, problems } = opened
    const found: string[] = []
    // A single visit for all of them: the content is the same, only the rendering differs.
    const check = async (address: string) => {
      await show(page, address)
      // Forms behind a button are checked too.
      const closed = page.getByRole('button', { name: /^(Add|Set a schedule)…$/ })
      for (let count = await closed.count(); count > 0; count--) await closed.first().click()
      await addAxe(page)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor({ state: 'attached' })
        found.push(
          ...(await violations(page, { coloursOnly: colorScheme === 'dark' })).map((one) => `${address} ${colorScheme}: ${one}`),
        )
      }
      await page.setViewportSize(phone)
      const excess = await page.evaluate(settledExcess)
      if (excess > 0) found.push(`${address}: ${excess} px wider than a phone`)
      await page.setViewportSize(desk)
    }
    for (const address of Object.values(frontAddressesOf(filled))) await check(address)
    await signIn(page, ownerSignIn)
    await opened.useCache()
    for (const address of Object.values(addressesOf(filled))) await check(address)
    expect(found).toEqual([])
    expect(problems).toEqual([])
  }, 900_000)

  test('with the keyboard alone a user skips the navigation, finds a project and reads why a button is disabled', async () => {
    await using opened = await openPage(browser, { url: hosting.berth.url, viewport: desk })
    const { page, problems } = opened
    await signIn(page, viewerSignIn)
    await page.goto('/')
    await page.getByRole('article').first().waitFor()
    const { keyboard } = page
    await keyboard.press('Tab')
    expect(await focused(page)).toBe('Skip to the content')
    await keyboard.press('/')
    await page.getByPlaceholder('Search projects and pages').waitFor()
    await keyboard.press('Escape')
    await page.getByPlaceholder('Search projects and pages').waitFor({ state: 'detached' })
    await keyboard.press('Control+k')
    // Text typed before the field has the focus is lost.
    await page.locator('input[placeholder="Search projects and pages"]:focus').waitFor()
    await keyboard.type('harbour')
    await page.getByRole('button', { name: /^Harbour shop/ }).waitFor()
    await keyboard.press('ArrowDown')
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Harbour shop', level: 1 }).waitFor()
    await page.locator('#content').focus()
    await keyboard.press('Tab')
    for (let presses = 0; (await focused(page)) !== 'Deploy'; presses++) {
      expect(presses).toBeLessThan(10)
      await keyboard.press('Tab')
    }
    await page.getByRole('tooltip', { name: /Your role, viewer, cannot do this/ }).waitFor()
    expect(problems).toEqual([])
  })

  test('a script that fails to load is requested again', async () => {
    await using opened = await openPage(browser, {
      url: hosting.berth.url,
      isExpected: (problem) => /^failed: .*\/assets\//.test(problem),
    })
    const { page, problems } = opened
    const broken = new Set<string>()
    // The first script and the common style sheet come with the page itself.
    await page.route(/\/assets\/(?!index-|style-)/, async (route) => {
      const url = route.request().url()
      if (broken.has(url)) return await route.continue()
      broken.add(url)
      await route.abort('connectionreset')
    })
    await signIn(page, ownerSignIn)
    await page.getByRole('article').first().waitFor()
    expect([...broken].some((url) => url.includes('/sign-in-page-'))).toBe(true)
    expect(problems).toEqual([])
  })

  test('a hidden tab sends no requests, and refreshes when it becomes visible', async () => {
    await using opened = await openPage(browser, { url: hosting.berth.url })
    const { page, problems } = opened
    await signIn(page, ownerSignIn)
    // A fake clock in the page: minutes pass instantly and deterministically.
    await page.clock.install()
    await page.goto(`/projects/${filled.projectId}`)
    await page.getByText('Latest deployments').waitFor()
    const requested: string[] = []
    const open = new Set<Request>()
    page.on('request', (request) => {
      requested.push(request.url())
      if (!request.url().endsWith('/api/health')) open.add(request)
    })
    page.on('requestfinished', (request) => open.delete(request))
    page.on('requestfailed', (request) => open.delete(request))
    await page.clock.fastForward(60_000)
    await expect.poll(() => requested.length).toBeGreaterThan(0)
    await hide(page, true)
    // This request comes after all requests that the page has sent so far.
    const mark = () => page.evaluate(async () => void (await fetch('/api/health')))
    // A page that was just hidden ends what it has begun, which may need further requests.
    await expect
      .poll(async () => {
        const before = requested.length
        await mark()
        return { open: [...open].map((request) => request.url()), begun: requested.length - before - 1 }
      })
      .toEqual({ open: [], begun: 0 })
    const before = requested.length
    for (let minute = 0; minute < 5; minute++) await page.clock.fastForward(60_000)
    await mark()
    expect(requested.slice(before).map((url) => new URL(url).pathname)).toEqual(['/api/health'])
    await hide(page, false)
    await page.clock.fastForward(60_000)
    await expect.poll(() => requested.length).toBeGreaterThan(before + 1)
    expect(problems).toEqual([])
  })

  test('a lost connection is shown, and the page recovers without a reload', async () => {
    await using opened = await openPage(browser, {
      url: hosting.berth.url,
      isExpected: (problem) => /^failed: |ERR_CONNECTION_REFUSED|^50\d /.test(problem),
    })
    const { page, problems } = opened
    await signIn(page, ownerSignIn)
    await page.getByRole('article').first().waitFor()
    await hosting.berth.kill9()
    const note = page.getByText('The connection to the server is lost')
    await note.waitFor()
    await hosting.berth.restart()
    await note.waitFor({ state: 'detached', timeout: 120_000 })
    await hosting.makeProject({ name: 'Made after the storm' })
    await page.getByRole('link', { name: 'Made after the storm' }).waitFor()
    expect(problems).toEqual([])
  })

  test('the page allows only its own scripts and styles, and its scripts are sent compressed', async () => {
    const page = await fetch(`${hosting.berth.url}/projects/anything`)
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(policy).toMatch(/style-src 'self' 'nonce-[\w-]{20,}';/)
    expect(policy).not.toContain('unsafe')
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1]
    const sent = await fetch(`${hosting.berth.url}${script}`, { headers: { 'accept-encoding': 'gzip' } })
    expect(sent.headers.get('content-encoding')).toBe('gzip')
    expect(sent.headers.get('content-type')).toMatch(/javascript/)
    expect(await sent.text()).toContain('import')
    const again = await fetch(`${hosting.berth.url}/index.html`)
    expect(again.headers.get('content-security-policy')).not.toBe(policy)
  })
})

const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent)

/** Simulates a hidden tab; a headless browser shows every page. */
const hide = (page: Page, isHidden: boolean) =>
  page.evaluate(
    (state) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state })
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    },
    isHidden ? 'hidden' : 'visible',
  )

async function show(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.locator('h1').first().waitFor()
  await expect.poll(() => page.locator('[role=status][aria-label=Loading]').count()).toBe(0)
}

/** Runs in the page: the horizontal overflow once the layout has followed the window's width. */
async function settledExcess(): Promise<number> {
  const excess = () => document.documentElement.scrollWidth - window.innerWidth
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
  await frame()
  await frame()
  for (let left = 60; left > 0 && (window.innerWidth > 360 || excess() > 0); left--) await frame()
  return excess()
}
