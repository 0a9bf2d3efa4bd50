import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openPage, signIn } from '../kit/browser-page.ts'
import { filesWith } from '../kit/canary.ts'
import { launchChromium } from '../kit/chromium.ts'
import { client, startGitHubHost, tokens } from '../kit/git-hosts/github-host.ts'
import { ownerSignIn, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'

const run = promisify(execFile)

describeNeeding(['chromium', 'git'], 'a GitHub App by manifest', () => {
  test('an instance without a Git setting creates a GitHub App and deploys a push, without a restart', async () => {
    await using host = await startGitHubHost()
    await host.createRepository('acme/shop')
    await using hosting = await startHosting({ env: { ...host.settings(), BERTH_LOG_LEVEL: 'debug' } })
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
    await page.getByRole('button', { name: 'Create GitHub App' }).click()
    await page.getByRole('button', { name: /^Continue at/ }).click()
    // The pages of GitHub.
    await page.getByRole('heading', { name: /^Berth 127\.0\.0\.1/ }).waitFor()
    await page.getByRole('button', { name: 'Create GitHub App' }).click()
    await page.getByRole('button', { name: 'Install' }).click()
    // Back on the git page.
    await page.getByText('GitHub is connected: acme').waitFor()
    await page.getByText('Through the installed app').waitFor()
    await page.getByText('berth-test').waitFor()
    const [application] = (await hosting.api('GET', '/gitprovider/applications')).body.data
    expect(application).toMatchObject({ origin: 'stored', kind: 'app', connectedOrganizations: 1, problems: [] })

    await page.goto('/new?from=repository')
    await page.getByRole('button', { name: 'Choose acme/shop' }).click()
    await page.getByRole('button', { name: 'Use this branch' }).click()
    await page.getByRole('button', { name: 'Deploy', exact: true }).click()
    await page.getByRole('log').getByText('Live').waitFor({ timeout: 120_000 })
    expect((await hosting.get('shop.localhost')).text).toBe('first')
    // The webhook of the app reports the push: the repository has none of its own.
    expect(host.hooks).toEqual([])
    await push('second')
    await page.getByRole('link', { name: 'Deployments' }).click()
    const second = page.getByRole('row').filter({ hasText: 'say second' }).filter({ hasText: 'live' })
    await second.waitFor({ timeout: 120_000 })
    expect((await hosting.get('shop.localhost')).text).toBe('second')
    expect(problems.filter((problem) => !problem.startsWith(`other host: ${host.url}/`))).toEqual([])

    const secrets = [client.secret, host.apps.hook!.secret, 'BEGIN RSA PRIVATE KEY']
    await hosting.berth.stop()
    for (const secret of secrets) expect(hosting.berth.output()).not.toContain(secret)
    expect(await filesWith(hosting.berth.dataFolder, secrets)).toEqual([])
  })
})
