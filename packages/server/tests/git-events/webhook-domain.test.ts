import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance } from '../kit/instance.ts'
import { makePeople } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { files, push, type Scene, startScene } from './scene.ts'

let scene: Scene
let name: string
let project: { id: string; slug: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  scene = await startScene()
})
beforeEach(async () => {
  name = await scene.repository()
  project = await scene.project(name)
  on = callsOn(scene.instance, scene.people.owner.token)(project)
})
afterAll(() => scene?.stop())

const set = async (domain: string | null, at = on) => {
  expect((await at('POST', '/webhook-domain', { domain })).status).toBe(200)
  await scene.settled()
}
const hook = () => scene.host.hooks.find(({ repository }) => repository === name)!
const origin = () => new URL(hook().url).origin
const free = (slug = project.slug) => `http://${slug}.localhost:4080`
const own = 'http://berth.localhost'
const deliveries = () => scene.instance.drivers.edge.table.deliveries

describe('the webhook domain of a project', () => {
  test('receives the deliveries of the host, and the edge forwards them; without one they go to the address of the instance', async () => {
    const { secret, id } = hook()
    expect(origin()).toBe(own)
    await set(`${project.slug}.localhost`)
    expect([origin(), hook().id, hook().secret]).toEqual([free(), id, secret])
    expect((await on('GET', '/git')).body.data.webhook).toMatchObject({ active: true, url: hook().url })
    await on('POST', '/connect', { domain: `hooks.${project.slug}.example.test` })
    await set(`hooks.${project.slug}.example.test`)
    expect(origin()).toBe(`http://hooks.${project.slug}.example.test:4080`)
    const [owner, repo] = name.split('/') as [string, string]
    const at = { params: { owner, repo } }
    const again = await call(scene.instance, scene.people.owner.token, 'POST /gitprovider/repos/:owner/:repo/webhooks', at)
    expect([again.status, again.body.data.url, again.body.data.ours]).toEqual([200, hook().url, true])
    await set(null)
    expect(origin()).toBe(own)
  })

  test('follows a renamed free host name, moves to a remaining project of the repository, and is removed with its project', async () => {
    await set(`${project.slug}.localhost`)
    const other = await scene.project(name)
    const onOther = callsOn(scene.instance, scene.people.owner.token)(other)
    await set(`${other.slug}.localhost`, onOther)
    expect(origin()).toBe(free())
    await on('PATCH', '', { slug: `new-${project.slug}` })
    await scene.settled()
    expect(origin()).toBe(free(`new-${project.slug}`))
    await on('DELETE', '')
    await scene.settled()
    expect(origin()).toBe(free(other.slug))
    await onOther('POST', '/git/link', { owner: 'ann', repo: (await scene.repository()).slice(4), branch: 'main' })
    await scene.settled()
    expect(origin()).toBe(own)
  })

  test('that is removed returns the deliveries to the address of the instance', async () => {
    const hostname = `gone.${project.slug}.example.test`
    await on('POST', '/connect', { domain: hostname })
    await set(hostname)
    expect(new URL(hook().url).hostname).toBe(hostname)
    await on('DELETE', '/domains/:hostname', undefined, { params: { hostname } })
    await scene.settled()
    expect(origin()).toBe(own)
    await expect.poll(() => deliveries()?.hostnames ?? []).not.toContain(hostname)
  })

  test('stays in use while another organisation has an unproven claim to the name', async () => {
    const hostname = `shared.${project.slug}.example.test`
    await on('POST', '/connect', { domain: hostname })
    await set(hostname)
    expect(new URL(hook().url).hostname).toBe(hostname)
    const others = await makePeople(scene.instance)
    const theirs = await makeProject(scene.instance, others.owner.token)
    await callsOn(scene.instance, others.owner.token)(theirs)('POST', '/connect', { domain: hostname })
    await scene.settled()
    expect(new URL(hook().url).hostname).toBe(hostname)
    expect(deliveries()?.hostnames ?? []).toContain(hostname)
  })

  test('accepts deliveries at the edge before the first deployment; they have the same effect as at any other address', async () => {
    await scene.instance.app.listen({ host: '127.0.0.1', port: 0 })
    await set(`${project.slug}.localhost`)
    const { hostnames, to, key } = deliveries()!
    expect([hostnames, to.host]).toEqual([expect.arrayContaining([`${project.slug}.localhost`]), '127.0.0.1'])
    const commit = await scene.host.git.commit(name, files('by the domain'))
    const options = { secret: hook().secret, hook: new URL(hook().url).searchParams.get('hook')! }
    const headers = { 'berth-edge': `${key} 203.0.113.7` }
    expect((await scene.deliver('push', push(name, commit), { ...options, headers })).status).toBe(202)
    await scene.settled()
    expect(await scene.deployments(project.id)).toMatchObject([{ trigger: 'push', status: 'live' }])
  })
})

test('forwarded deliveries are counted for the client that the edge reports; no other sender may report one', async () => {
  const instance = await startInstance({}, { rateLimits: { publicWebhook: 2 } })
  const stopping = new AbortController()
  await instance.running?.start(stopping.signal)
  try {
    await instance.app.listen({ host: '127.0.0.1', port: 0 })
    const { owner } = await makePeople(instance)
    const made = await makeProject(instance, owner.token)
    await callsOn(instance, owner.token)(made)('POST', '/webhook-domain', { domain: `${made.slug}.localhost` })
    await expect.poll(() => instance.drivers.edge.table.deliveries?.hostnames).toEqual([`${made.slug}.localhost`])
    const { key } = instance.drivers.edge.table.deliveries!
    const deliver = async (edge: string) => {
      const input = { params: { provider: 'github' }, body: {}, headers: { 'berth-edge': edge } }
      return (await call(instance, null, 'POST /webhooks/git/:provider', input)).status
    }
    const from = (address: string) => deliver(`${key} ${address}`)
    expect([await from('203.0.113.7'), await from('203.0.113.7'), await from('203.0.113.7')]).toEqual([401, 401, 429])
    expect([await from('203.0.113.8'), await deliver(`${key} 203.0.113.7, ${key} 203.0.113.9`)]).toEqual([401, 429])
    const guesses = ['x 203.0.113.10', `${key.slice(1)} 203.0.113.11`, '203.0.113.12', ` ${key} 203.0.113.13`]
    const answers: number[] = []
    for (const guess of guesses) answers.push(await deliver(guess))
    expect(answers).toEqual([401, 401, 429, 429])
  } finally {
    stopping.abort()
    await instance.running?.stop()
    await instance.stop()
  }
})
