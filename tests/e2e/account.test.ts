import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { totpCode, totpStepAt } from '../../packages/server/src/modules/access/totp.ts'
import { addAxe, violations } from '../kit/axe.ts'
import { openPage, signIn } from '../kit/browser-page.ts'
import { launchChromium } from '../kit/chromium.ts'
import { ownerSignIn, startHosting } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'

/** Sets two-factor authentication up on a page that shows its section. */
async function setUpTotp(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Set up' }).click()
  const secret = (await page.getByText(/^[A-Z2-7]{32}$/).textContent()) ?? ''
  await page.getByRole('textbox', { name: 'Code' }).fill(totpCode(secret, totpStepAt(Date.now())))
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByRole('button', { name: 'I have stored them' }).click()
}

describeNeeding(['chromium'], 'the account in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium(partOf('chromium'))
  })
  afterAll(() => browser?.close())

  test('two-factor authentication is set up, required at sign-in and turned off; the password is changed', async () => {
    await using hosting = await startHosting()
    await using opened = await openPage(browser, {
      url: hosting.berth.url,
      isExpected: (problem) => problem.startsWith('401 /api/auth/'),
    })
    const { page, problems } = opened
    await signIn(page, ownerSignIn)
    await page.goto('/account')
    await page.getByRole('button', { name: 'Set up' }).click()
    const secret = (await page.getByText(/^[A-Z2-7]{32}$/).textContent()) ?? ''
    await page.getByRole('img', { name: 'QR code of the key' }).waitFor()
    await addAxe(page)
    expect(await violations(page, { coloursOnly: false })).toEqual([])
    await page.getByRole('textbox', { name: 'Code' }).fill('000000')
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText('Wrong code').waitFor()
    await page.getByRole('textbox', { name: 'Code' }).fill(totpCode(secret, totpStepAt(Date.now())))
    await page.getByRole('button', { name: 'Turn on' }).click()
    const codes = ((await page.getByLabel('Recovery codes').textContent()) ?? '').split('\n')
    expect(codes).toHaveLength(10)
    await page.getByRole('button', { name: 'I have stored them' }).click()
    await page.getByText('10 recovery codes left').waitFor()

    await page.getByRole('button', { name: 'Sign out' }).first().click()
    await page.getByLabel('E-mail address').fill(ownerSignIn.email)
    await page.getByRole('textbox', { name: 'Password' }).fill(ownerSignIn.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('textbox', { name: 'Code' }).fill(codes[0] as string)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await page.getByText('9 recovery codes left').waitFor()
    await page.getByText('(this session)').waitFor()

    await page.getByRole('textbox', { name: 'Code' }).fill(codes[1] as string)
    await page.getByRole('button', { name: 'Turn off' }).click()
    await page.getByRole('button', { name: 'Set up' }).waitFor()

    await page.getByRole('textbox', { name: 'Current password' }).fill(ownerSignIn.password)
    await page.getByRole('textbox', { name: 'New password' }).fill('another horse battery')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText(/Password changed/).waitFor()
    expect(problems).toEqual([])
  })

  test('a passkey is added and signs in without the password; a removed one does not', async () => {
    await using hosting = await startHosting()
    await using opened = await openPage(browser, {
      // Browsers create passkeys for host names only.
      url: hosting.berth.url.replace('127.0.0.1', 'localhost'),
      isExpected: (problem) => problem.startsWith('401 /api/auth/'),
    })
    const { page, problems } = opened
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    await signIn(page, ownerSignIn)
    await page.goto('/account')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Laptop')
    await page.getByRole('textbox', { name: 'Your password' }).fill('not this one')
    await page.getByRole('button', { name: 'Create passkey' }).click()
    await page.getByText('Wrong password').waitFor()
    await addAxe(page)
    expect(await violations(page, { coloursOnly: false })).toEqual([])
    await page.getByRole('textbox', { name: 'Your password' }).fill(ownerSignIn.password)
    await page.getByRole('button', { name: 'Create passkey' }).click()
    await page.getByRole('table', { name: 'Passkeys' }).getByText('Laptop').waitFor()

    const signInWithPasskey = async () => {
      await page.getByRole('button', { name: 'Sign out' }).first().click()
      await page.getByRole('button', { name: 'Use a passkey' }).click()
    }
    await signInWithPasskey()
    await page.getByRole('button', { name: 'Remove the passkey Laptop' }).click()
    await page.getByText('Passkey removed.').waitFor()
    await signInWithPasskey()
    await page.getByText('This passkey is not known here').waitFor()
    expect(problems).toEqual([])
  })

  test('an organisation requires two-factor authentication: a member without it sets it up and goes on', async () => {
    await using hosting = await startHosting()
    const member = { email: 'member@example.test', password: 'correct horse battery' }
    const { body } = await hosting.api('POST', '/invitations', { email: member.email, role: 'member' })
    await hosting.api('POST', '/invitations/accept', { code: body.data.code, ...member })
    const options = { url: hosting.berth.url, isExpected: (problem: string) => /^40[13] \/api\//.test(problem) }
    await using owner = await openPage(browser, options)
    await signIn(owner.page, ownerSignIn)
    const requireOf = async (...emails: string[]) => {
      await owner.page.goto('/organization/settings')
      await owner.page.getByRole('button', { name: 'Require it…' }).click()
      await owner.page.getByText(`At present these have none: ${emails.join(', ')}.`).waitFor()
      await owner.page.getByRole('button', { name: 'Require it', exact: true }).click()
    }
    await requireOf(ownerSignIn.email, member.email)
    await owner.page.getByText(/for your own account first/).waitFor()
    await owner.page.goto('/account')
    await setUpTotp(owner.page)
    await owner.page.getByText('10 recovery codes left').waitFor()
    await requireOf(member.email)
    await owner.page.getByText('Required of every member.').waitFor()

    await using opened = await openPage(browser, options)
    const { page, problems } = opened
    await page.goto('/sign-in')
    await page.getByLabel('E-mail address').fill(member.email)
    await page.getByRole('textbox', { name: 'Password' }).fill(member.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Set up two-factor authentication' }).waitFor()
    await addAxe(page)
    expect(await violations(page, { coloursOnly: false })).toEqual([])
    await setUpTotp(page)
    await page.getByRole('button', { name: /Search or go to/ }).waitFor()
    expect(problems).toEqual([])
  })
})
