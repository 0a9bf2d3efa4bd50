import { addressesOf } from '../../tests/kit/filled-instance.ts'
import { startGitHubHost } from '../../tests/kit/git-hosts/github-host.ts'
import { ownerSignIn, startHosting } from '../../tests/kit/hosting.ts'
import type { cameraOf } from './camera.ts'
import { type Scene, scenesOf } from './scenes.ts'

const nothing = { projectId: 'none', deploymentId: 'none', serverId: 'none' }
/** Selects the addresses that contain the text and refer to existing objects. */
const addressesWith = (addresses: Record<string, string>, text: string) =>
  Object.fromEntries(Object.entries(addresses).filter(([, address]) => address.includes(text) && !address.includes('none')))

/** Takes screenshots of a new instance as it grows: empty, with a connected git host, with one project, with a thousand projects. */
export async function shootGrowing(shoot: ReturnType<typeof cameraOf>, isAsked: (name: string) => boolean): Promise<void> {
  const host = await startGitHubHost()
  try {
    await using hosting = await startHosting({ env: host.settings('oauth') })
    const take = (scenes: readonly Scene[]) => shoot(hosting.berth.url, ownerSignIn, scenes)
    await take(scenesOf(addressesWith(addressesOf(nothing), '/'), 'empty-'))

    await host.createRepository('acme/shop', { 'package.json': '{"scripts":{"start":"node server.js"}}', 'server.js': '' })
    await host.createRepository('acme/handbook', { 'index.html': '<h1>Handbook</h1>' }, { private: true })
    const { body } = await hosting.api('POST', '/gitprovider/connect', { source: 'oauth' })
    await fetch(await host.authorize(body.url, 'ann'), { redirect: 'manual' })
    await take([
      ...scenesOf({ git: '/git', 'new-repository': '/new?from=repository' }, 'connected-'),
      {
        name: 'connected-branch',
        isWhole: true,
        address: '/new?from=repository',
        async act(page) {
          await page.getByRole('button', { name: 'Choose acme/shop' }).click()
          await page.getByRole('button', { name: 'Use this branch' }).waitFor()
        },
      },
    ])

    const { id } = await hosting.makeProject({
      name: 'The only one',
      gitProvider: 'github',
      gitOwner: 'acme',
      gitRepo: 'shop',
      gitBranch: 'main',
    })
    const ofProject = addressesWith(addressesOf({ ...nothing, projectId: id }), id)
    await take([...scenesOf({ projects: '/' }, 'one-'), ...scenesOf(ofProject, 'new-born-')])

    if (!isAsked('thousand-projects') && !isAsked('thousand-rows')) return
    for (let at = 1; at < 1000; at++) await hosting.makeProject({ name: `Project ${at}` })
    await take([
      ...scenesOf({ members: '/organization/members', tokens: '/organization/tokens', backups: '/backups' }, 'thousand-'),
      {
        name: 'thousand-projects',
        address: '/',
        async act(page) {
          await page.evaluate(() => window.scrollTo(0, 3000))
          await page.getByRole('article').first().waitFor()
        },
      },
      { name: 'thousand-rows', address: '/', act: (page) => page.getByRole('button', { name: 'Show as rows' }).click() },
    ])
  } finally {
    await host.close()
  }
}
