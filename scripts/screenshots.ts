import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openPage, signIn } from '../tests/kit/browser-page.ts'
import { launchChromium } from '../tests/kit/chromium.ts'
import { addressesOf, fillInstance } from '../tests/kit/filled-instance.ts'
import { ownerSignIn, startHosting } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'

/**
 * npm run screenshots [folder] [name…]: the built product on real data, every address in both themes, at a desk and on a phone.
 * With names (as in `addressesOf`) only those.
 */
const [folder = 'screenshots', ...names] = process.argv.slice(2)
await mkdir(folder, { recursive: true })
const screens = { desk: { width: 1280, height: 900 }, phone: { width: 360, height: 740 } }

await using hosting = await startHosting()
const filled = await fillInstance(hosting)
await using browser = await launchChromium(partOf('chromium'))
for (const [screen, viewport] of Object.entries(screens)) {
  for (const colorScheme of ['light', 'dark'] as const) {
    await using opened = await openPage(browser, { url: hosting.berth.url, viewport, colorScheme })
    const { page, problems } = opened
    await shoot('sign-in', '/sign-in')
    await signIn(page, ownerSignIn)
    for (const [name, address] of Object.entries(addressesOf(filled)))
      if (names.length === 0 || names.includes(name)) await shoot(name, address)
    for (const problem of new Set(problems)) console.log(`${screen} ${colorScheme}: ${problem}`)

    async function shoot(name: string, address: string) {
      await page.goto(address)
      await page.waitForLoadState('domcontentloaded')
      await page
        .locator('h1')
        .first()
        .waitFor({ timeout: 15_000 })
        .catch(() => console.log(`${address} shows no heading`))
      await page
        .locator('[role=status][aria-label=Loading]')
        .first()
        .waitFor({ state: 'detached', timeout: 10_000 })
        .catch(() => {})
      await page.screenshot({ path: join(folder, `${name}-${screen}-${colorScheme}.png`), fullPage: true })
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      if (excess > 0) console.log(`${address} scrolls ${excess} px sideways on ${screen}`)
    }
  }
}
