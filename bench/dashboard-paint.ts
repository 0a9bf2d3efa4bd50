import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import type { Browser, BrowserContext } from 'playwright-core'
import { signIn } from '../tests/kit/browser-page.ts'
import { launchChromium } from '../tests/kit/chromium.ts'
import { fillInstance } from '../tests/kit/filled-instance.ts'
import { ownerSignIn, startHosting } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'
import { table } from './kit/table.ts'

/**
 * Measures the time until a user with an empty cache and a slow connection sees their first project, compared with a page that only
 * loads the scripts of another product: `node bench/dashboard-paint.ts [folder with its .js files, in the order of their names]`.
 * The other page has one line of text below its scripts, which are compressed like ours: this is the minimum for a page with these
 * scripts.
 */
const rounds = 5
/** 1.6 Mbit/s and a round trip of 150 ms: a slow mobile connection, with the figures of Lighthouse. */
const line = { offline: false, latency: 150, downloadThroughput: (1.6e6 / 8) * 0.9, uploadThroughput: (750e3 / 8) * 0.9 }

await using hosting = await startHosting()
await fillInstance(hosting)
await using browser = await launchChromium(partOf('chromium'))
const context = await browser.newContext({ baseURL: hosting.berth.url, viewport: { width: 1280, height: 900 } })
const first = await context.newPage()
await signIn(first, ownerSignIn)
await first.close()

const [folder] = process.argv.slice(2)
const other = folder ? serveScripts(folder) : undefined
const results: Record<string, Painted[]> = { Berth: [], ...(other ? { [`the scripts of ${folder}`]: [] } : {}) }
for (let round = 0; round < rounds; round++) {
  results.Berth!.push(await visit(context, `${hosting.berth.url}/`, 'article'))
  if (other) results[`the scripts of ${folder}`]!.push(await visitApart(browser, other.url, 'p'))
}
other?.close()
const best = (of: readonly number[]) => String(Math.round(Math.min(...of)))
console.log(
  table(
    ['page', 'script transferred, kB', 'first paint, ms', 'first useful paint, ms'],
    Object.entries(results).map(([name, all]) => [
      name,
      (all[0]!.scriptBytes / 1000).toFixed(0),
      best(all.map(({ firstPaint }) => firstPaint)),
      best(all.map(({ useful }) => useful)),
    ]),
  ),
)

interface Painted {
  scriptBytes: number
  firstPaint: number
  useful: number
}

async function visitApart(of: Browser, url: string, useful: string): Promise<Painted> {
  const apart = await of.newContext({ viewport: { width: 1280, height: 900 } })
  try {
    return await visit(apart, url, useful)
  } finally {
    await apart.close()
  }
}

/** Loads the page with an empty cache until the first useful element is painted. */
async function visit(of: BrowserContext, url: string, useful: string): Promise<Painted> {
  const page = await of.newPage()
  try {
    const session = await of.newCDPSession(page)
    await session.send('Network.enable')
    await session.send('Network.setCacheDisabled', { cacheDisabled: true })
    await session.send('Network.emulateNetworkConditions', line)
    let scriptBytes = 0
    const scripts = new Set<string>()
    session.on('Network.responseReceived', ({ requestId, type }) => type === 'Script' && scripts.add(requestId))
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (scripts.has(requestId)) scriptBytes += encodedDataLength
    })
    await page.addInitScript(noteFirst, useful)
    await page.goto(url)
    const seen = await page.waitForFunction(() => (window as unknown as { firstUseful?: number }).firstUseful, null, {
      timeout: 60_000,
    })
    const firstPaint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0)
    return { scriptBytes, firstPaint, useful: Number(await seen.jsonValue()) }
  } finally {
    await page.close()
  }
}

/** Runs in the page: records when the frame with the first useful element was painted. */
function noteFirst(selector: string): void {
  const watch = new MutationObserver(() => {
    if (!document.querySelector(selector)) return
    watch.disconnect()
    requestAnimationFrame(() => setTimeout(() => Object.assign(window, { firstUseful: performance.now() })))
  })
  watch.observe(document, { childList: true, subtree: true })
}

function serveScripts(from: string) {
  const names = readdirSync(from)
    .filter((name) => name.endsWith('.js'))
    .sort()
  const files = new Map(names.map((name) => [`/${name}`, brotliCompressSync(readFileSync(join(from, name)))]))
  const head = names.map((name) => `<script src="/${name}"></script>`).join('')
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '')
    if (file) return response.writeHead(200, { 'content-type': 'text/javascript', 'content-encoding': 'br' }).end(file)
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><head>${head}</head><p>Projects`)
  })
  server.listen(0, '127.0.0.1')
  return {
    get url() {
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    },
    close: () => server.close(),
  }
}
