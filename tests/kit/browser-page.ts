import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core'

/** A page of the dashboard that records its errors. */
export interface WatchedPage extends AsyncDisposable {
  page: Page
  /** Console errors, failed requests, error responses and requests to other hosts, as text. */
  problems: string[]
  /**
   * Ends the interception of writes, so that Chromium uses its cache again. While requests are intercepted it loads and compiles every
   * script anew. The test only reads from then on.
   */
  useCache(): Promise<void>
}

interface Options extends BrowserContextOptions {
  url: string
  /** Responses that the test causes on purpose: `404 /api/projects/…`. */
  isExpected?(problem: string): boolean
}

export async function openPage(browser: Browser, { url, isExpected = () => false, ...context }: Options): Promise<WatchedPage> {
  const opened = await browser.newContext({ baseURL: url, ...context })
  // A step that takes a second on an idle machine may take half a minute beside other tests that build and start.
  opened.setDefaultTimeout(90_000)
  await sendWritesFromHere(opened)
  const page = await opened.newPage()
  repeatNavigations(page)
  const problems: string[] = []
  const note = (problem: string) => {
    // A user who is not signed in gets a 401, which a browser also writes to its console.
    if (/^401 \/api\/auth\/session/.test(problem) || /status of 401/.test(problem) || isExpected(problem)) return
    problems.push(problem)
  }
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) note(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => note(`page: ${error.message}`))
  page.on('requestfailed', (request) => {
    // Leaving a page aborts its streams and reads. A change of the network's interfaces aborts reads; the dashboard repeats them.
    if (!/ERR_ABORTED|ERR_NETWORK_CHANGED/.test(request.failure()?.errorText ?? ''))
      note(`failed: ${request.url()} ${request.failure()?.errorText}`)
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== url && !['blob:', 'data:'].includes(protocol)) note(`other host: ${request.url()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) note(`${response.status()} ${new URL(response.url()).pathname}`)
  })
  return { page, problems, useCache: () => opened.unrouteAll(), [Symbol.asyncDispose]: () => opened.close() }
}

/** Repeats a navigation that failed because containers of other tests added or removed network interfaces. */
function repeatNavigations(page: Page): void {
  const goto = page.goto.bind(page)
  page.goto = async (...target) => {
    for (;;)
      try {
        return await goto(...target)
      } catch (error) {
        // Chromium shows an error page after a failure, and loading that page may interrupt the next navigation.
        if (!/ERR_NETWORK_CHANGED|chrome-error:\/\/chromewebdata/.test(String(error))) throw error
      }
  }
}

/**
 * Sends the JSON writes of the pages from this process. Containers of other tests add and remove network interfaces; Chromium then
 * fails every request that waits for a connection (`ERR_NETWORK_CHANGED`), and the dashboard does not repeat a write by itself.
 */
async function sendWritesFromHere(context: BrowserContext): Promise<void> {
  await context.route(
    (url) => url.pathname.startsWith('/api/'),
    async (route, request) => {
      if (!isJsonWrite(request)) return route.fallback()
      const response = await route.fetch({ timeout: 0, maxRedirects: 0 }).catch(() => undefined)
      // The page or the server may have been closed meanwhile.
      await (response ? route.fulfill({ response }) : route.abort()).catch(() => {})
    },
  )
}

/** Leaves uploads to the browser: interception does not see their bytes. */
function isJsonWrite(request: Request): boolean {
  const { 'content-type': type = 'application/json', accept = '' } = request.headers()
  return !['GET', 'HEAD'].includes(request.method()) && type.startsWith('application/json') && !accept.includes('event-stream')
}

/** Signs in with the form, as a user does: if the server is reported as unreachable, presses the button again. */
export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.goto('/sign-in')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(password)
  const signedIn = page.getByRole('button', { name: /Search or go to/ })
  const isUnreachable = page.getByText('The server is unreachable')
  for (let presses = 0; presses < 3; presses++) {
    await page.getByRole('button', { name: 'Sign in' }).click()
    await signedIn.or(isUnreachable).first().waitFor()
    if (!(await signedIn.isVisible())) continue
    // The signed-in page appears before the address changes. A navigation of the test in between would be interrupted.
    return page.waitForURL((url) => url.pathname !== '/sign-in')
  }
  throw new Error('sign-in failed: the dashboard reported the server as unreachable three times in a row')
}
