import { afterAll, beforeAll, expect, test } from 'vitest'
import { callsOn, makeProject } from '../kit/projects.ts'
import { connectAccount, type Scene, startScene } from './scene.ts'

/** `memberRepositories` also applies where a project would read the repository on behalf of a user. */
let scene: Scene
beforeAll(async () => {
  scene = await startScene(['oauth'])
  for (const name of ['acme/blog', 'acme/shop', 'ann/blog', 'ann/shop']) await scene.host.createRepository(name)
  await connectAccount(scene)
  const at = { params: { id: scene.people.organizationId }, body: { memberRepositories: ['acme/blog', 'ann/*'] } }
  await scene.request('PATCH /organizations/:id', at)
})
afterAll(() => scene?.stop())

const blog = { gitProvider: 'github', gitOwner: 'acme', gitRepo: 'blog' }
const hidden = { gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop' }
const urlOf = (name: string) => `${scene.host.url}/${name}`
const projectAs = (who: 'member' | 'owner', body: object) => makeProject(scene.instance, scene.people[who].token, body)
const onProject = (project: { id: string }, who: 'member' | 'owner' = 'member') =>
  callsOn(scene.instance, scene.people[who].token)(project)

test('a member cannot create a project of a repository that members may not use, however it is spelled', async () => {
  const bodies = [
    hidden,
    { ...hidden, gitOwner: 'ACME', gitRepo: 'Shop' },
    { gitUrl: urlOf('acme/shop.git') },
    { gitUrl: urlOf('acme/shop') },
    { ...blog, gitUrl: urlOf('acme/shop.git') },
    { ...hidden, gitUrl: urlOf('acme/blog.git') },
  ]
  for (const body of bodies)
    for (const route of ['POST /projects', 'POST /projects/ensure'] as const) {
      const { status, body: answer } = await scene.as('member')(route, { body: { name: 'Shop', ...body } })
      expect({ body, status, field: answer.field }).toEqual({ body, status: 404, field: 'gitRepo' })
    }
  expect((await scene.request('POST /projects', { body: { name: 'Shop', ...hidden } })).status).toBe(201)
})

test('a member cannot point a project to such a repository: by the link, a change, or two concurrent changes that are each allowed', async () => {
  const project = await projectAs('member', { ...blog, gitBranch: 'main' })
  const call = onProject(project)
  expect((await call('POST', '/git/link', { owner: 'acme', repo: 'shop' })).status).toBe(404)
  expect((await call('POST', '/git/link', { owner: 'acme', repo: 'shop', branch: 'main' })).status).toBe(404)
  for (const body of [{ gitRepo: 'shop' }, { gitUrl: urlOf('acme/shop') }, hidden])
    expect((await call('PATCH', '', body)).status).toBe(404)
  expect((await call('POST', '/git/link', { owner: 'ann', repo: 'blog' })).status).toBe(200)
  await Promise.all([call('PATCH', '', { gitOwner: 'acme' }), call('PATCH', '', { gitRepo: 'shop' })])
  const { source } = (await call('GET', '')).body.data
  expect(['acme/blog', 'ann/shop']).toContain(`${source.owner}/${source.repo}`)
})

test('the setting of an admin stays when another user changes other settings', async () => {
  const project = await projectAs('owner', { ...hidden, gitBranch: 'main' })
  const call = onProject(project)
  expect((await call('PATCH', '', { name: 'Renamed', ...hidden })).status).toBe(200)
  expect((await call('POST', '/git/link', { owner: 'acme', repo: 'shop', branch: 'main' })).status).toBe(200)
})

test('the connection is used only for repositories that members may see; malformed addresses get no token', async () => {
  const opens = async (body: object, url: string) => {
    const { id } = await projectAs('owner', { ...body, gitBranch: 'main' })
    const project = (await scene.instance.projects.find(id))!
    return (await scene.instance.projects.remoteOf(project, url)).credential !== undefined
  }
  expect(await opens(blog, urlOf('acme/blog.git'))).toBe(true)
  expect(await opens(blog, urlOf('ann/shop.git'))).toBe(true)
  expect(await opens(blog, urlOf('acme/shop.git'))).toBe(false)
  expect(await opens(hidden, urlOf('ann/blog.git'))).toBe(true)
  for (const path of ['acme%2Fshop', 'acme/shop.git/.git', 'acme//shop.git', '%61cme/shop.git'])
    expect([path, await opens(blog, urlOf(path))]).toEqual([path, false])
})
