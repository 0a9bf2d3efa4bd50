import type { Page } from 'playwright-core'
import { ownerSignIn } from '../../tests/kit/hosting.ts'
import type { Scene } from './scenes.ts'

/** The sign-in page with the button for passkeys, which is shown at a host name only. */
export const passkeyFrontScenes: readonly Scene[] = [{ name: 'passkey-sign-in', address: '/sign-in' }]

/** The form that adds a passkey, a wrong password in it, and the list. */
export const passkeyScenes: readonly Scene[] = [
  { name: 'passkey-none', address: '/account' },
  { name: 'passkey-add', address: '/account', isWhole: true, act: (page) => fillForm(page, 'not this one') },
  { name: 'passkey-list', address: '/account', isWhole: true, act: addPasskey },
]

async function fillForm(page: Page, password: string): Promise<void> {
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Laptop')
  await page.getByRole('textbox', { name: 'Your password' }).fill(password)
  await page.getByRole('button', { name: 'Create passkey' }).click()
  if (password !== ownerSignIn.password) await page.getByText('Wrong password').waitFor()
}

/** Adds a passkey of a simulated device. It works only if the device has none yet, so each page has its own device. */
async function addPasskey(page: Page): Promise<void> {
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
  await fillForm(page, ownerSignIn.password)
  await page.getByRole('table', { name: 'Passkeys' }).getByText('Laptop').first().waitFor()
  await page.getByRole('button', { name: 'Create passkey' }).waitFor({ state: 'detached' })
}
