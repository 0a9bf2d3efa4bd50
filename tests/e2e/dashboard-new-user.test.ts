import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPage } from '../kit/browser-page.ts'
import { launchChromium } from '../kit/chromium.ts'
import { ownerSignIn, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'
import { startBerth } from '../kit/start-berth.ts'

describeNeeding(['chromium'], 'a new user in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium(partOf('chromium'))
  })
  afterAll(() => browser?.close())

  test('before set-up the first page explains how to become the owner', async () => {
    await using berth = await startBerth({ env: { BERTH_RUNTIME: 'process', BERTH_LOG_LEVEL: 'warn' } })
    await using opened = await openPage(browser, { url: berth.url })
    await opened.page.goto('/')
    await opened.page.getByRole('heading', { name: 'This instance has no owner yet' }).waitFor()
    await opened.page.getByText('berth admin create').waitFor()
    expect(opened.problems).toEqual([])
  })

  test('sign-in returns to the requested page; domains are added, checked, made primary and removed; the command palette opens a page; an environment is cloned', async () => {
    await using hosting = await startHosting()
    await writeApp(join(hosting.folder, 'shop'), serving('shop'))
    const { id } = await hosting.makeProject({ name: 'Shop', localPath: join(hosting.folder, 'shop') })
    await using opened = await openPage(browser, { url: hosting.berth.url, viewport: { width: 1280, height: 900 } })
    const { page, problems } = opened

    await page.goto(`/projects/${id}/git`)
    await page.getByLabel('E-mail address').fill(ownerSignIn.email)
    await page.getByRole('textbox', { name: 'Password' }).fill(ownerSignIn.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Git', level: 1 }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/projects/${id}/git`)

    await changeDomains(page, id)

    await page.keyboard.press('Control+k')
    await page.locator('input[placeholder="Search projects and pages"]:focus').waitFor()
    await page.keyboard.type('env shop')
    await page.getByRole('button', { name: 'Shop: Variables' }).click()
    await page.getByRole('heading', { name: 'Variables', level: 1 }).waitFor()

    await page.goto(`/projects/${id}/environments`)
    await page.getByRole('button', { name: 'Clone Production' }).click()
    await page.getByRole('button', { name: 'Clone', exact: true }).last().click()
    await page.getByText('Production copy', { exact: true }).waitFor()
    expect(problems).toEqual([])
  })
})

async function changeDomains(page: Page, id: string): Promise<void> {
  await page.goto(`/projects/${id}/domains`)
  await page.getByLabel('Domain', { exact: true }).fill('shop.example.test')
  await page.getByRole('button', { name: 'Connect' }).click()
  await page.getByRole('heading', { name: 'Waiting for DNS: shop.example.test' }).waitFor()
  await page.getByRole('button', { name: 'Check DNS now: shop.example.test' }).click()
  await page.getByLabel('Notices').getByText(/./).first().waitFor()
  await page.getByRole('button', { name: /^Make primary: shop\.localhost/ }).click()
  await page.getByRole('button', { name: 'Make primary: shop.example.test' }).waitFor()
  await page.getByRole('button', { name: 'Remove shop.example.test' }).click()
  await page.getByRole('button', { name: 'Remove domain' }).click()
  await page.getByRole('heading', { name: 'Waiting for DNS: shop.example.test' }).waitFor({ state: 'detached' })
}
