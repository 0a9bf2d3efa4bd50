import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { openPage, signIn } from '../tests/kit/browser-page.ts'
import { launchChromium } from '../tests/kit/chromium.ts'
import { addressesOf, fillInstance, frontAddressesOf } from '../tests/kit/filled-instance.ts'
import { getPage, ownerSignIn, startHosting } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'

/**
 * npm run screenshots [folder] [name…]: the built product on real data, every address in both themes, at a desk and on a phone.
 * With names (as in `addressesOf`) only those.
 * npm run pictures [-- --minutes 8]: those of the README and the documentation, into docs/pictures; the project has visitors for some
 * minutes first, so that its charts have something to show.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { docs: { type: 'boolean', default: false }, minutes: { type: 'string', default: '8' } },
})
const isForDocs = values.docs
const [folder = isForDocs ? 'docs/pictures' : 'screenshots', ...names] = positionals
const documented = ['project', 'project-deployment', 'project-backups']
const largestBytes = 150_000
const screens = { desk: { width: 1280, height: 900 }, phone: { width: 360, height: 740 } }
const shots = isForDocs
  ? [{ screen: 'desk', colorScheme: 'light' } as const]
  : (['desk', 'phone'] as const).flatMap((screen) => (['light', 'dark'] as const).map((colorScheme) => ({ screen, colorScheme })))
/** Addresses that differ only in what is chosen on them. */
const otherWays = { 'new-path': '/new?from=path', 'new-server': '/new?from=server', 'new-example': '/new?from=example' }
const isAsked = (name: string) => (isForDocs ? documented.includes(name) : names.length === 0 || names.includes(name))

await mkdir(folder, { recursive: true })
await using hosting = await startHosting()
const filled = await fillInstance(hosting)
if (isForDocs) await visitors(Number(values.minutes))
await using browser = await launchChromium(partOf('chromium'))
for (const { screen, colorScheme } of shots) {
  await using opened = await openPage(browser, { url: hosting.berth.url, viewport: screens[screen], colorScheme })
  const { page, problems } = opened
  const shoot = async (addresses: Record<string, string>) => {
    for (const [name, address] of Object.entries(addresses).filter(([one]) => isAsked(one))) {
      const path = join(folder, isForDocs ? `${name}.png` : `${name}-${screen}-${colorScheme}.png`)
      await show(page, address)
      await page.screenshot({ path, fullPage: !isForDocs })
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      if (excess > 0) console.log(`${address} scrolls ${excess} px sideways on ${screen}`)
      const { size } = await stat(path)
      if (isForDocs && size > largestBytes)
        console.log(`${path} has ${size} bytes: more than a page of documentation should carry`)
    }
  }
  await shoot(frontAddressesOf(filled))
  await signIn(page, ownerSignIn)
  await shoot({ ...addressesOf(filled), ...otherWays })
  for (const problem of new Set(problems)) console.log(`${screen} ${colorScheme}: ${problem}`)
}

async function show(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.waitForLoadState('domcontentloaded')
  const heading = page.locator('h1').first()
  await heading.waitFor({ timeout: 15_000 }).catch(() => console.log(`${address} shows no heading`))
  const loading = page.locator('[role=status][aria-label=Loading]').first()
  await loading.waitFor({ state: 'detached', timeout: 10_000 }).catch(() => console.log(`${address} is still loading`))
}

/** People who come and go: more of them every third minute, now and then at an address that is not there. */
async function visitors(minutes: number): Promise<void> {
  const end = performance.now() + minutes * 60_000
  for (let visit = 0; performance.now() < end; visit++) {
    const minute = Math.floor((end - performance.now()) / 60_000)
    await getPage(hosting.berth.edgeUrl, 'harbour-shop.localhost', visit % 40 === 39 ? '/missing' : '/')
    await pause([60, 220, 400][minute % 3])
  }
}
