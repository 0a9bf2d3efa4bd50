import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openPage, signIn } from '../kit/browser-page.ts'
import { launchChromium } from '../kit/chromium.ts'
import { startGitHubHost, tokens } from '../kit/git-hosts/github-host.ts'
import { ownerSignIn, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'

const run = promisify(execFile)

describeNeeding(['chromium', 'git'], 'a repository in the dashboard', () => {
  test('a repository is chosen and deployed, and a push is shown without a reload and becomes live', async () => {
    const host = await startGitHubHost()
    try {
      await host.createRepository('acme/shop')
      await using hosting = await startHosting({ env: host.settings('oauth') })
      const { body } = await hosting.api('POST', '/gitprovider/connect', { source: 'oauth' })
      await fetch(await host.authorize(body.url, 'ann'), { redirect: 'manual' })
      const work = join(hosting.folder, 'shop')
      const url = new URL(`${host.url}/acme/shop.git`)
      Object.assign(url, { username: 'bob', password: tokens.bob })
      await run('git', ['clone', '--quiet', url.href, work])
      const push = async (message: string) => {
        await writeApp(work, serving(message))
        const git = (...args: string[]) =>
          run('git', ['-C', work, '-c', 'user.name=Bob', '-c', 'user.email=bob@example.test', ...args])
        await git('add', '--all')
        await git('commit', '--quiet', '--message', `say ${message}`)
        await git('push', '--quiet', 'origin', 'HEAD:main')
      }
      await push('first')

      await using browser = await launchChromium(partOf('chromium'))
      await using opened = await openPage(browser, { url: hosting.berth.url, viewport: { width: 1280, height: 900 } })
      const { page, problems } = opened
      await signIn(page, ownerSignIn)
      await page.goto('/git')
      await page.getByText('Through an account').waitFor()
      await page.goto('/new?from=repository')
      await page.getByRole('button', { name: 'Choose acme/shop' }).click()
      await page.getByText('is installed, built and started by its scripts').waitFor()
      await page.getByRole('button', { name: 'Use this branch' }).click()
      await page.getByRole('button', { name: 'Deploy', exact: true }).click()
      await page.getByRole('log').getByText('Live').waitFor({ timeout: 120_000 })
      await page.getByText('say first').waitFor()

      await page.getByRole('link', { name: 'Deployments' }).click()
      await page.getByRole('row').filter({ hasText: '#1' }).waitFor()
      await push('second')
      const second = page.getByRole('row').filter({ hasText: 'say second' }).filter({ hasText: 'live' })
      await second.waitFor({ timeout: 120_000 })
      await page.getByRole('link', { name: 'Git', exact: true }).click()
      await page.getByText('The webhook is registered.').waitFor()
      await page.getByText('up to date').waitFor()
      expect((await hosting.get('shop.localhost')).text).toBe('second')
      expect(problems).toEqual([])
    } finally {
      await host.close()
    }
  })
})
