import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openPage, signIn } from '../kit/browser-page.ts'
import { launchChromium } from '../kit/chromium.ts'
import { type Hosting, ownerSignIn, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'

const otherOwner = { email: 'bo@example.test', password: 'a horse of another stable' }

describeNeeding(['chromium'], 'small things of the dashboard', () => {
  test('the Git page says why no account can be connected; only operators get the application, folders of the machine and its storage', async () => {
    await using hosting = await startHosting()
    const organizationId = await ownOrganization(hosting)
    await using browser = await launchChromium(partOf('chromium'))
    await using operators = await openPage(browser, { url: hosting.berth.url })
    await signIn(operators.page, ownerSignIn)
    await operators.page.goto('/git')
    await operators.page.getByRole('heading', { name: 'GitHub application' }).waitFor()
    const connect = operators.page.getByRole('button', { name: 'Connect an account' })
    await expect.poll(() => connect.getAttribute('aria-disabled')).toBe('true')
    await connect.focus()
    await operators.page.getByRole('tooltip', { name: /no application at GitHub yet/ }).waitFor()
    expect(operators.problems).toEqual([])

    // Only operators may read the applications: the page of another owner does not request them.
    await using others = await openPage(browser, { url: hosting.berth.url })
    await signIn(others.page, otherOwner)
    await others.page.evaluate((id) => localStorage.setItem('berth.organization', id), organizationId)
    await others.page.goto('/git')
    await others.page.getByRole('heading', { name: 'Not connected' }).waitFor()
    expect(await others.page.getByRole('heading', { name: 'GitHub application' }).count()).toBe(0)
    expect(await others.page.getByRole('alert').count()).toBe(0)
    await others.page.goto('/git?error=forbidden')
    await others.page.getByText('Ask an owner or admin.').waitFor()
    const refused = async (address: string, button: string) => {
      await others.page.goto(address)
      await others.page.getByRole('button', { name: button }).focus()
      await others.page.getByRole('tooltip', { name: /^Only an operator of the instance can do this/ }).waitFor()
    }
    await refused('/git', "Use this machine's login")
    await refused('/new?from=path', 'Scan the folder')
    await others.page.goto('/organization/settings')
    await others.page.getByRole('heading', { name: 'Repositories visible to members' }).waitFor()
    await others.page.goto('/backups')
    await others.page.getByLabel('Kind').selectOption('local')
    await others.page.getByRole('button', { name: 'Add', exact: true }).focus()
    await others.page.getByRole('tooltip', { name: /^Only an operator/ }).waitFor()
    expect(others.problems).toEqual([])
  })

  test('on a touch screen the controls of the variable dialog, a choice of sources and the switches of rules are at least 44 px high', async () => {
    await using hosting = await startHosting()
    await writeApp(join(hosting.folder, 'shop'), serving('shop'))
    const { id } = await hosting.makeProject({ name: 'Shop', localPath: join(hosting.folder, 'shop') })
    await hosting.api('POST', `/projects/${id}/route-rules`, { kind: 'ban', config: { ips: ['203.0.113.7'] }, dryRun: true })
    await hosting.api('PATCH', `/projects/${id}/env`, { upserts: [{ key: 'GREETING', value: 'Ahoy', isSecret: false }] })
    await using browser = await launchChromium(partOf('chromium'))
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
    await using opened = await openPage(browser, { url: hosting.berth.url, ...phone })
    const { page, problems } = opened
    await signIn(page, ownerSignIn)
    await page.goto(`/projects/${id}/env`)
    await page.getByRole('button', { name: 'Change GREETING' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Save' }).waitFor()
    const heights = await dialog
      .locator('button, textarea:not([aria-hidden])')
      .evaluateAll((elements) => elements.map((element) => element.getBoundingClientRect().height))
    const secret = await dialog.getByText('Secret', { exact: true }).boundingBox()
    expect(heights.length).toBe(4)
    for (const height of [...heights, secret?.height ?? 0]) expect(height).toBeGreaterThanOrEqual(44)
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.goto('/new')
    await page.getByText('Repository', { exact: true }).waitFor()
    const choices = await page
      .locator('.mantine-SegmentedControl-label')
      .evaluateAll((elements) => elements.map((element) => element.getBoundingClientRect().height))
    expect(choices.length).toBeGreaterThan(3)
    for (const height of choices) expect(height).toBeGreaterThanOrEqual(44)
    await page.goto(`/projects/${id}/rules`)
    const dryRun = page.getByRole('switch', { name: /^Dry run: Block/ })
    const box = await dryRun.boundingBox()
    expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(44)
    await dryRun.click({ position: { x: 2, y: 2 } })
    await page.getByText('0 blocked', { exact: true }).waitFor()
    expect(problems).toEqual([])
  })
})

/** Creates a user who owns an organisation of their own, and is no operator; returns the organisation's id. */
async function ownOrganization({ api, berth }: Hosting): Promise<string> {
  const invitation = await api('POST', '/invitations', { email: otherOwner.email, role: 'admin' })
  const joined = await api('POST', '/invitations/accept', { code: invitation.body.data.code, ...otherOwner })
  const headers = { 'content-type': 'application/json', origin: berth.url }
  const send = (path: string, body: object, more = {}) =>
    fetch(`${berth.url}/api${path}`, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) })
  const cookie = (await send('/auth/login', otherOwner)).headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const { data } = (await (await send('/organizations', { name: 'Stable' }, { cookie })).json()) as { data: { id: string } }
  // Admins of the first organisation are operators; viewers are not.
  await api('PATCH', `/members/${joined.body.data.user.id}`, { role: 'viewer' })
  return data.id
}
