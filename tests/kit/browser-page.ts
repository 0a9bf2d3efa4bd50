import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

/** A page of the dashboard that remembers what went wrong on it. */
export interface WatchedPage extends AsyncDisposable {
  page: Page
  /** Console errors, failed requests, refused answers and requests to other hosts, each in words. */
  problems: string[]
}

interface Options extends BrowserContextOptions {
  url: string
  /** Answers that the test brings about: `404 /api/projects/…`. */
  isExpected?(problem: string): boolean
}

export async function openPage(browser: Browser, { url, isExpected = () => false, ...context }: Options): Promise<WatchedPage> {
  const opened = await browser.newContext({ baseURL: url, ...context })
  // Beside others that build and start, what takes a second on a machine of its own may take half a minute.
  opened.setDefaultTimeout(90_000)
  const page = await opened.newPage()
  const problems: string[] = []
  const note = (problem: string) => {
    // Who has not signed in is told so by a 401, which a browser also writes to its console.
    if (/^401 \/api\/auth\/session/.test(problem) || /status of 401/.test(problem) || isExpected(problem)) return
    problems.push(problem)
  }
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) note(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => note(`page: ${error.message}`))
  page.on('requestfailed', (request) => {
    // A page that is left takes its streams and reads with it. Containers of other tests come and go with network interfaces of
    // their own, which breaks a browser's requests off; the dashboard asks again by itself.
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

/** By the form, as a person does: who is told that the server cannot be reached presses the button again. */
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
