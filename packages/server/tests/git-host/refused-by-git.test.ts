import { afterAll, beforeAll, expect, test } from 'vitest'
import { callsOn, makeProject } from '../kit/projects.ts'
import { connectAccount, connectApp, type Scene, startScene } from './scene.ts'

/** A token is cached for a while. The host may revoke it meanwhile, and git is the first to notice. */
let scene: Scene
const given: string[] = []
beforeAll(async () => {
  scene = await startScene(['app', 'oauth'])
  await scene.host.createRepository('acme/shop')
  await scene.host.createRepository('ann/blog')
  scene.host.onGit = async ({ token }) => void given.push(token)
})
afterAll(() => scene?.stop())

async function projectOf(gitOwner: string, gitRepo: string) {
  const { token } = scene.people.owner
  const project = await makeProject(scene.instance, token, { gitProvider: 'github', gitOwner, gitRepo })
  // The value comes from git, not from the API of the host. The first token may take longer than its time limit of five seconds.
  const head = async () => (await callsOn(scene.instance, token)(project)('GET', '/commit-status')).body.data.remoteCommit
  await expect.poll(head).toMatch(/^[0-9a-f]{40}$/)
  return { head, token: given.at(-1)! }
}

test('a cached token of the app with which git was refused is dropped, and another is fetched at once', async () => {
  await connectApp(scene)
  const { head, token } = await projectOf('acme', 'shop')
  expect(token).toMatch(/^ghs_/)
  scene.host.revoke(token)
  expect([await head(), await head()]).toEqual([expect.any(String), expect.any(String)])
  expect(scene.host.rejectedGitTokens).toEqual([token])
  expect(given.at(-1)).toMatch(/^ghs_/)
})

test('an account with which git was refused is checked once, and not used until it is connected again', async () => {
  await connectAccount(scene)
  const { head, token } = await projectOf('ann', 'blog')
  expect(token).toMatch(/^gho_/)
  scene.host.revoke(token)
  expect(await head()).toBeNull()
  expect((await scene.request('GET /gitprovider/status')).body).toMatchObject({ sources: { oauth: false, app: true } })
  expect(await head()).toBeNull()
  expect(scene.host.rejectedGitTokens.filter((one) => one === token)).toHaveLength(1)
  await connectAccount(scene)
  expect(await head()).toMatch(/^[0-9a-f]{40}$/)
})
