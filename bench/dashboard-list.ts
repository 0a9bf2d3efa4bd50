import { openPage, signIn } from '../tests/kit/browser-page.ts'
import { launchChromium } from '../tests/kit/chromium.ts'
import { ownerSignIn, startHosting } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'

/**
 * Measures the list of a thousand projects in a real browser: the time until it is readable, and the late frames while it
 * scrolls from top to bottom, compared with an empty page that scrolls in the same browser. `node bench/dashboard-list.ts
 * [projects]`
 */
const count = Number(process.argv[2] ?? 1000)
await using hosting = await startHosting()
for (let at = 0; at < count; at++) await hosting.makeProject({ name: `Project ${at}` })
await using browser = await launchChromium(partOf('chromium'))
await using opened = await openPage(browser, { url: hosting.berth.url, viewport: { width: 1280, height: 900 } })
const { page, problems } = opened
await signIn(page, ownerSignIn)

const begun = performance.now()
await page.goto('/')
await page.getByRole('article').first().waitFor()
console.log(
  `${count} projects: the first card after ${Math.round(performance.now() - begun)} ms, ${await page.getByRole('article').count()} cards drawn`,
)
const session = await page.context().newCDPSession(page)
// Measures CPU time of the page's thread, which does not depend on other load on the machine.
await session.send('Performance.enable', { timeDomain: 'threadTicks' })
const worked = async () => {
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0
}
const before = await worked()
const list = await page.evaluate(scroll)
const perFrameMs = (1000 * ((await worked()) - before)) / list.frames
await page.goto('about:blank')
await page.setContent('<div style="height: 60000px"></div>')
const bare = await page.evaluate(scroll)
const share = ({ late, frames }: Awaited<ReturnType<typeof scroll>>) => `${late} of ${frames} frames later than 25 ms`
console.log(`the page's own work: ${perFrameMs.toFixed(1)} ms of processor time a frame; a frame of 60 a second has 16.7`)
console.log(`scrolling the list: ${share(list)}; a page with nothing on it: ${share(bare)}`)
for (const problem of problems) console.log(problem)

/** Three seconds of scrolling, a step a frame. */
async function scroll(): Promise<{ frames: number; late: number }> {
  const end = performance.now() + 3000
  let last = performance.now()
  let frames = 0
  let late = 0
  // 6,000 px a second: a quick hand on a wheel.
  const step = 100
  while (performance.now() < end) {
    const now = await new Promise<number>((resolve) => requestAnimationFrame(resolve))
    frames++
    if (now - last > 25) late++
    last = now
    window.scrollBy(0, step)
  }
  return { frames, late }
}
