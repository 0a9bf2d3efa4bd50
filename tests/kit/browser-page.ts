import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

/** A page of the dashboard that records its errors. */
export interface WatchedPage extends AsyncDisposable {
  page: Page
  /** Console errors, failed requests, error responses and requests to other hosts, as text. */
  problems: string[]
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
  const page = await opened.newPage()
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
    // Leaving a page aborts its streams and reads. Containers of other tests add and remove network interfaces, which aborts a
    // browser's requests; the dashboard repeats them.
    if (!/ERR_ABORTED|ERR_NETWORK_CHANGED/.test(request.failure()?.errorText ?? ''))
      note(`failed: ${request.url()} ${request.failure()?.errorText}`)
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== url && !['blob:', 'data:'].includes(protocol)) note(`elsewhere: ${request.url()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) note(`${response.status()} ${new URL(response.url()).pathname}`)
  })
  return { page, problems, [Symbol.asyncDispose]: () => opened.close() }
}

/** Signs in with the form, as a user does: if the server is reported as unreachable, presses the button again. */
export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.goto('/sign-in')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(password)
  const inside = page.getByRole('button', { name: /Search or go to/ })
  const isUnreachable = page.getByText('The server is unreachable')
  for (let presses = 0; presses < 3; presses++) {
    await page.getByRole('button', { name: 'Sign in' }).click()
    await inside.or(isUnreachable).first().waitFor()
    if (await inside.isVisible()) return
  }
  throw new Error('three times in a row, the server could not be reached')
}
