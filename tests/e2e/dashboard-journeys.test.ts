import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPage, signIn } from '../kit/browser-page.ts'
import { launchChromium } from '../kit/chromium.ts'
import { fillInstance, viewerSignIn } from '../kit/filled-instance.ts'
import { getPage, ownerSignIn, startHosting, writeApp } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'
import { type Berth, startBerth } from '../kit/start-berth.ts'
import { tempFolder } from '../kit/temp-folder.ts'

const app = `
import { createServer } from 'node:http'
import { existsSync, writeFileSync } from 'node:fs'
const orders = process.env.BERTH_VOLUME_DATA && process.env.BERTH_VOLUME_DATA + '/orders.json'
if (orders && !existsSync(orders)) writeFileSync(orders, 'twelve orders')
createServer((_, response) => response.end(\`\${process.env.GREETING ?? 'hello'} from version 1\`)).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`

describeNeeding(['chromium'], 'journeys in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium(partOf('chromium'))
  })
  afterAll(() => browser?.close())

  test('a new owner uploads a folder, opens it, changes a variable, redeploys, rolls back, backs up, restores and undoes the restore', async () => {
    await using berth = await startBerth({ env: { BERTH_RUNTIME: 'process', BERTH_LOG_LEVEL: 'warn' } })
    await using place = await tempFolder('dropped')
    const folder = join(place.path, 'greeter')
    await writeApp(folder, app)
    await using opened = await openPage(browser, { url: berth.url })
    const { page, problems } = opened

    await page.goto(setUpPath(berth))
    await page.getByLabel('Organisation').fill('Harbour')
    await page.getByLabel('Your e-mail address').fill(ownerSignIn.email)
    await page.getByRole('textbox', { name: 'Password' }).fill(ownerSignIn.password)
    await page.getByRole('button', { name: 'Create your account' }).click()
    await page.getByRole('link', { name: /Upload a folder/ }).click()

    await page.getByLabel('Folder to upload').setInputFiles(folder)
    await page.getByText('Detected settings').waitFor()
    await page.getByLabel('Variables as .env text').fill('GREETING=ahoy\n')
    await page.getByRole('button', { name: 'Deploy', exact: true }).click()
    await isLive(page, 1)
    const address = new URL((await page.getByRole('link', { name: /localhost/ }).getAttribute('href')) ?? '')
    const answer = async () => (await getPage(berth.edgeUrl, address.host, '/')).text
    expect(await answer()).toBe('ahoy from version 1')

    await page.getByRole('link', { name: 'Variables' }).click()
    await page.getByRole('button', { name: 'Edit all as text' }).click()
    await page.getByLabel('All variables').fill('GREETING=welcome\nMOTD="a\\nb"\n')
    await page.getByText('Adds', { exact: true }).waitFor()
    await page.getByText('Changes', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Save these changes' }).click()
    await page.getByRole('button', { name: 'Deploy', exact: true }).click()
    await isLive(page, 2)
    expect(await answer()).toBe('welcome from version 1')

    await page.getByRole('link', { name: 'Deployments' }).click()
    await page.getByRole('link', { name: '#1', exact: true }).click()
    await page.getByRole('heading', { name: 'Deployment #1' }).waitFor()
    await page.getByRole('button', { name: 'Roll back to this' }).click()
    await page.getByText('It runs with the variables and settings of that deployment').waitFor()
    await page.getByRole('button', { name: 'Roll back', exact: true }).click()
    await isLive(page, 3)
    expect(await answer()).toBe('ahoy from version 1')

    await giveVolume(page)
    await isLive(page, 4)
    await addPolicy(page)
    await restoreAndUndo(page, berth)
    expect(problems).toEqual([])
  })

  test('a notification appears without a reload; a viewer sees why a button is disabled; a removed member is signed out of an open page', async () => {
    await using hosting = await startHosting()
    const { projectId } = await fillInstance(hosting)
    await using opened = await openPage(browser, { url: hosting.berth.url, viewport: { width: 1280, height: 900 } })
    const { page, problems } = opened
    await signIn(page, ownerSignIn)

    await page.goto('/')
    await page.getByRole('link', { name: /^Notifications, \d+ unseen/ }).waitFor()
    const unseen = await unseenOn(page)
    await writeApp(join(hosting.folder, 'quiet'), 'process.exit(1)\n')
    const other = await hosting.makeProject({
      name: 'Late',
      localPath: join(hosting.folder, 'quiet'),
      healthCheck: { path: '/', timeoutSeconds: 5 },
    })
    await hosting.settled(await hosting.deploy(other.id))
    // It comes over the page's one open connection: as a notice, and as one more on the bell.
    await page.getByLabel('Notices').getByText(/Late/).first().waitFor()
    await expect.poll(() => unseenOn(page)).toBeGreaterThan(unseen)
    expect(problems).toEqual([])

    await using checking = await openPage(browser, { url: hosting.berth.url, viewport: { width: 1280, height: 900 } })
    await signIn(checking.page, viewerSignIn)
    await cannotChange(checking.page, projectId)
    expect(checking.problems).toEqual([])

    const members = await hosting.api('GET', '/members')
    const viewer = members.body.data.find(({ email }: { email: string }) => email === viewerSignIn.email)
    await hosting.api('DELETE', `/members/${viewer.userId}`)
    await checking.page.getByRole('button', { name: 'Sign in' }).waitFor()
  })
})

async function giveVolume(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Settings' }).click()
  const volumes = page.getByRole('region', { name: 'Volumes' })
  await volumes.getByRole('button', { name: 'Add a volume' }).click()
  await volumes.getByLabel('Name of volume 1').fill('data')
  await volumes.getByLabel('Folder of volume 1').fill('/data')
  await volumes.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. Takes effect with the next deployment.').waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('button', { name: 'Deploy', exact: true }).click()
}

/** A folder of the machine as destination, a policy that goes there, and its schedule changed afterwards. */
async function addPolicy(page: Page): Promise<void> {
  const projectPath = new URL(page.url()).pathname.split('/').slice(0, 3).join('/')
  await page.goto('/backups')
  const form = page.getByRole('region', { name: 'Add a destination' })
  await form.getByLabel('Kind').selectOption('local')
  await form.getByLabel('Name').fill('Shed')
  await form.getByLabel('Folder').fill('nightly')
  await form.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('row').filter({ hasText: 'Shed' }).getByText('passed').waitFor()
  await page.goto(`${projectPath}/backups`)
  await page.getByRole('button', { name: 'Add the policy' }).click()
  const policy = page.getByRole('table', { name: 'Policies' })
  await policy.getByText('every night at 03:00').waitFor()
  await policy.getByRole('button', { name: 'Change' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Schedule').selectOption('Every Sunday at 03:00')
  await dialog.getByText(/Next: Sunday.*( · Sunday.*){4}/).waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await policy.getByText('every sunday at 03:00').waitFor()
}

async function restoreAndUndo(page: Page, berth: Berth): Promise<void> {
  await page.getByRole('button', { name: 'Back up now' }).click()
  await page.getByRole('row').filter({ hasText: 'manual' }).filter({ hasText: 'succeeded' }).waitFor({ timeout: 120_000 })
  await writeFile(await ordersFile(berth), 'spoilt')
  await page.getByRole('button', { name: 'Restore…' }).first().click()
  await page.getByRole('button', { name: 'Check the backup' }).click()
  await page.getByText('all data was read and verified').waitFor()
  await page.getByText('Changes by this restore').waitFor()
  const confirmation = page.getByLabel(/^Type .+ to confirm$/)
  const label = await page.getByText(/^Type .+ to confirm$/).textContent()
  await confirmation.fill(/^Type (.+) to confirm$/.exec(label ?? '')?.[1] ?? '')
  await page.getByRole('button', { name: 'Restore now' }).click()
  await page.getByText('The data was restored from the backup.', { exact: true }).waitFor({ timeout: 120_000 })
  expect(await readFile(await ordersFile(berth), 'utf8')).toBe('twelve orders')
  await page.getByRole('button', { name: /^Undo/ }).click()
  const stored = async () => readFile(await ordersFile(berth), 'utf8')
  await expect.poll(() => stored().catch(() => 'being swapped')).toBe('spoilt')
  await page.getByRole('button', { name: 'Done' }).click()
}

async function cannotChange(page: Page, projectId: string): Promise<void> {
  await page.goto(`/projects/${projectId}`)
  const deploy = page.getByRole('button', { name: 'Deploy', exact: true })
  await deploy.waitFor()
  await expect.poll(() => deploy.getAttribute('aria-disabled')).toBe('true')
  await deploy.hover()
  await page.getByRole('tooltip', { name: /Your role, viewer, cannot do this/ }).waitFor()
  await deploy.click({ force: true })
  await page.goto(`/projects/${projectId}/backups`)
  await page.getByText('You cannot see the backups').waitFor()
  await page.goto(`/projects/${projectId}/settings`)
  const remove = page.getByRole('button', { name: 'Delete this project' })
  expect(await remove.getAttribute('aria-disabled')).toBe('true')
  expect(await page.locator('#content button[type=submit]').count()).toBe(0)
}

async function unseenOn(page: Page): Promise<number> {
  const label = await page.getByRole('link', { name: /^Notifications, / }).getAttribute('aria-label')
  return Number(/\d+/.exec(label ?? '')?.[0])
}

async function isLive(page: Page, number: number): Promise<void> {
  await page.getByRole('heading', { name: `Deployment #${number}` }).waitFor()
  const live = page.locator('header').getByText('live', { exact: true })
  await live.waitFor({ timeout: 120_000 }).catch(async (error: Error) => {
    throw new Error(`${error.message}\nThe page says:\n${await page.locator('main').textContent()}`)
  })
  await page.getByRole('log').getByText('Live').waitFor()
}

/** The link that a new instance prints. */
function setUpPath({ output }: Berth): string {
  const link = /http\S+(\/setup\?code=\S+)/.exec(output())
  if (!link) throw new Error(`no set-up link in ${output()}`)
  return link[1]!
}

async function ordersFile({ dataFolder }: Berth): Promise<string> {
  const files = await readdir(dataFolder, { recursive: true })
  const found = files.find((name) => name.endsWith('/orders.json') && !name.includes('restore'))
  if (!found) throw new Error('the volume holds no orders')
  return join(dataFolder, found)
}
