import { mkdirSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { addAxe, violations } from '../../tests/kit/axe.ts'
import { openPage, signIn } from '../../tests/kit/browser-page.ts'
import type { Scene } from './scenes.ts'

export interface Shot {
  screen: keyof typeof screens
  colorScheme: 'light' | 'dark'
}

const screens = {
  desk: { viewport: { width: 1280, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
}

export const everyShot: readonly Shot[] = (['desk', 'phone'] as const).flatMap((screen) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ screen, colorScheme })),
)

interface Camera {
  browser: Browser
  folder: string
  shots: readonly Shot[]
  isAsked(name: string): boolean
  /** Takes one screenshot per scene, as tall as the screen, for the documentation. */
  isForDocs: boolean
}

/** Maximum size of a screenshot in the documentation. */
const largestBytes = 150_000

/** Takes a screenshot of each scene on each screen in each theme, and reports its problems. */
export function cameraOf({ browser, folder, shots, isAsked, isForDocs }: Camera) {
  mkdirSync(folder, { recursive: true })
  return async (url: string, who: Parameters<typeof signIn>[1] | null, scenes: readonly Scene[]): Promise<void> => {
    const requested = scenes.filter(({ name }) => isAsked(name))
    if (requested.length === 0) return
    for (const { screen, colorScheme } of shots) {
      await using opened = await openPage(browser, {
        url,
        ...screens[screen],
        colorScheme,
        reducedMotion: 'reduce',
        isExpected: (problem) => problem.startsWith('404 /nowhere'),
      })
      const { page, problems } = opened
      if (who) await signIn(page, who)
      for (const { name, address, act, isOn, isWhole = !act } of requested) {
        if (isOn && isOn !== screen) continue
        const path = join(folder, isForDocs ? `${name}.png` : `${name}-${screen}-${colorScheme}.png`)
        const note = (message: string) => console.log(`${name} ${screen} ${colorScheme}: ${message}`)
        await show(page, address, note)
        // An action that fails, such as a missing button, is reported; the screenshot is taken anyway.
        await act?.(page).catch((error: Error) => note(error.message.split('\n').slice(0, 4).join(' ')))
        // Waits until the dialog has faded in.
        if (act) await pause(400)
        const { viewport } = screens[screen]
        if (!isForDocs && isWhole) await showWhole(page, viewport.width)
        await page.screenshot({ path })
        await page.setViewportSize(viewport)
        // The tests check every address; here dialogs and rare states are checked.
        await addAxe(page)
        for (const found of await violations(page)) note(found)
        const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
        if (excess > 0) note(`scrolls ${excess} px sideways`)
        const { size } = await stat(path)
        if (isForDocs && size > largestBytes) note(`${path} has ${size} bytes`)
      }
      for (const problem of new Set(problems)) console.log(`${screen} ${colorScheme}: ${problem}`)
    }
  }
}

/**
 * Makes the screen as tall as the page. Chromium's own full-page screenshot would show the sticky bar in the middle of a scrolled
 * page, and would not match `pointer: coarse`.
 */
async function showWhole(page: Page, width: number): Promise<void> {
  const height = await page.evaluate(() => {
    window.scrollTo(0, 0)
    return Math.max(window.innerHeight, document.documentElement.scrollHeight)
  })
  await page.setViewportSize({ width, height })
  // Charts adapt to the new size a moment later.
  await pause(200)
}

async function show(page: Page, address: string, note: (message: string) => void): Promise<void> {
  await page.goto(address)
  const heading = page.locator('h1').first()
  await heading.waitFor({ timeout: 15_000 }).catch(() => note('shows no heading'))
  const loading = page.locator('[role=status][aria-label=Loading]').first()
  await loading.waitFor({ state: 'detached', timeout: 10_000 }).catch(() => note('is still loading'))
  // Batched content, such as log lines, arrives a moment later.
  await pause(300)
}
