import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tokens } from '../../../../tests/kit/git-hosts/github-host.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { connectAccount, connectApp, on, type Scene, startScene } from './scene.ts'

let scene: Scene
let moved = 0
beforeAll(async () => {
  scene = await startScene(['oauth'], {}, { clock: { now: () => new Date(Date.now() + moved) } })
  await scene.instance.jobs.start()
  await connectAccount(scene)
})
afterAll(async () => {
  await scene?.instance.jobs.stop({ graceMs: 1_000 })
  await scene?.stop()
})

let count = 0
const repository = async () => {
  const name = `acme/pushed-${++count}`
  await scene.host.createRepository(name)
  return name
}
const sourceOf = (name: string) => {
  const [gitOwner, gitRepo] = name.split('/') as [string, string]
  return { gitProvider: 'github', gitOwner, gitRepo, gitBranch: 'main' }
}
const make = (body: object) => makeProject(scene.instance, scene.people.owner.token, body)
const calls = (project: { id: string }) => callsOn(scene.instance, scene.people.owner.token)(project)
const hooksOn = (name: string) => scene.host.hooks.filter(({ repository }) => repository === name)
const settled = () => scene.instance.jobs.whenIdle()
const webhookOf = async (project: { id: string }) => {
  moved += 60_000
  return (await calls(project)('GET', '/git')).body.data.webhook
}
/** Changes the hook at the host itself. */
const change = (name: string, body: object) => {
  const [{ id, url, secret }] = hooksOn(name) as [(typeof scene.host.hooks)[number]]
  return fetch(`${scene.host.url}/repos/${name}/hooks/${id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${tokens.ann}`, 'content-type': 'application/json' },
    body: JSON.stringify({ active: true, events: ['push', 'pull_request'], config: { url, secret }, ...body }),
  })
}

describe('with auto-deploy and a connected host the push webhook exists, in whatever order they were set', () => {
  test.each<[string, (name: string) => Promise<{ id: string }>]>([
    ['create', (name) => make({ ...sourceOf(name), autoDeploy: true })],
    [
      'link',
      async (name) => {
        const project = await make({ autoDeploy: true })
        const [owner, repo] = name.split('/')
        expect((await calls(project)('POST', '/git/link', { owner, repo })).status).toBe(200)
        return project
      },
    ],
    [
      'auto-deploy',
      async (name) => {
        const project = await make({ ...sourceOf(name), autoDeploy: false })
        await settled()
        expect(hooksOn(name)).toEqual([])
        await calls(project)('POST', '/auto-deploy', { enabled: true })
        return project
      },
    ],
    [
      'branch',
      async (name) => {
        const project = await make({ ...sourceOf(name), autoDeploy: true })
        await settled()
        const [hook] = hooksOn(name)
        await scene.request('DELETE /gitprovider/repos/:owner/:repo/webhooks', { ...on(name), body: { hookId: hook?.id } })
        expect(hooksOn(name)).toEqual([])
        await calls(project)('POST', '/branch', { branch: 'main' })
        return project
      },
    ],
    [
      'PATCH',
      async (name) => {
        const project = await make({ autoDeploy: true })
        await calls(project)('PATCH', '', sourceOf(name))
        return project
      },
    ],
    [
      'reconnect',
      async (name) => {
        await scene.request('POST /gitprovider/disconnect')
        const project = await make({ ...sourceOf(name), autoDeploy: true })
        await settled()
        expect(hooksOn(name)).toEqual([])
        await connectAccount(scene)
        return project
      },
    ],
  ])('%s', async (_, arrange) => {
    const name = await repository()
    const project = await arrange(name)
    await settled()
    expect(hooksOn(name)).toHaveLength(1)
    expect(await webhookOf(project)).toMatchObject({ active: true, url: hooksOn(name)[0]?.url })
  })

  test('without auto-deploy no webhook is added', async () => {
    const name = await repository()
    await make({ ...sourceOf(name), autoDeploy: false })
    await settled()
    expect(hooksOn(name)).toEqual([])
  })
})

describe('`webhook.problem` says why pushes may not arrive', () => {
  test('the host reports that the last delivery failed', async () => {
    const name = await repository()
    const project = await make({ ...sourceOf(name), autoDeploy: true })
    await settled()
    expect((await webhookOf(project)).problem).toBeNull()
    const [hook] = hooksOn(name)
    const last_response = { code: 502, status: 'failed', message: 'failed to connect to host' }
    scene.host.intercept = ({ path }) =>
      path === `/repos/${name}/hooks`
        ? { json: [{ id: hook!.id, active: true, events: ['push'], config: { url: hook!.url }, last_response }] }
        : undefined
    const webhook = await webhookOf(project)
    scene.host.intercept = null
    expect(webhook).toMatchObject({ active: true, problem: 'The last delivery failed: 502: failed to connect to host' })
  })

  test('an address of this machine cannot be reached from a public host', async () => {
    const project = await make({ gitUrl: 'https://gitlab.com/acme/shop.git', gitBranch: 'main' })
    expect((await webhookOf(project)).problem).toMatch(/^GitLab cannot deliver pushes: http:\/\/berth\.localhost is an address/)
  })
})

describe('`webhook.active` shows the state at the host, and a broken webhook is repaired', () => {
  test.each<[string, object]>([
    ['inactive', { active: false }],
    ['elsewhere', { config: { url: 'https://elsewhere.example.test', secret: 'x' } }],
    ['without push', { events: ['issues'] }],
  ])('%s', async (_, broken) => {
    const name = await repository()
    const project = await make({ ...sourceOf(name), autoDeploy: true })
    await settled()
    expect((await webhookOf(project)).active).toBe(true)
    expect((await change(name, broken)).status).toBe(200)
    expect((await webhookOf(project)).active).toBe(false)
    const again = await scene.request('POST /gitprovider/repos/:owner/:repo/webhooks', on(name))
    expect([again.status, again.body.data]).toMatchObject([200, { active: true, ours: true, events: ['push', 'pull_request'] }])
    expect((await webhookOf(project)).active).toBe(true)
    expect(hooksOn(name)).toHaveLength(1)
  })

  test('without an answer of the host or without a connection it is not active, within seconds', async () => {
    const name = await repository()
    const project = await make({ ...sourceOf(name), autoDeploy: true })
    await settled()
    scene.host.intercept = ({ path }) => (path.endsWith('/hooks') ? { status: 503, json: {} } : undefined)
    expect((await webhookOf(project)).active).toBe(false)
    scene.host.intercept = null
    expect((await webhookOf(project)).active).toBe(true)
    await scene.request('POST /gitprovider/disconnect')
    expect((await webhookOf(project)).active).toBe(false)
    await connectAccount(scene)
  })

  test('many reads within seconds are one call to the host', async () => {
    const name = await repository()
    const project = await make({ ...sourceOf(name), autoDeploy: true })
    await settled()
    await webhookOf(project)
    const before = scene.host.calls.filter(({ what }) => what === `GET /repos/${name}/hooks`).length
    await Promise.all([1, 2, 3].map(() => calls(project)('GET', '/git')))
    expect(scene.host.calls.filter(({ what }) => what === `GET /repos/${name}/hooks`)).toHaveLength(before)
  })
})

describe('GET /gitprovider/orgs/:org/repos', () => {
  test('of the connected account include its private repositories', async () => {
    await scene.host.createRepository('ann/private-one', {}, { private: true })
    await scene.host.createRepository('ann/public-one', {}, { private: false })
    const { body } = await scene.request('GET /gitprovider/orgs/:org/repos', { params: { org: 'ann' } })
    expect(body.data.map(({ name }: { name: string }) => name).sort()).toEqual(['private-one', 'public-one'])
  })
})

describe('clone-token', () => {
  test.each([
    [59, 200],
    [64, 200],
    [65, 409],
    [8 * 60, 409],
  ])('a token that lives %i minutes: %i', async (minutes, expected) => {
    const own = await startScene(['app'])
    try {
      await own.host.createRepository('acme/shop')
      await connectApp(own)
      own.host.intercept = ({ method, path }) =>
        method === 'POST' && path.endsWith('/access_tokens')
          ? { status: 201, json: { token: 'ghs_x', expires_at: new Date(Date.now() + minutes * 60_000 + 500).toISOString() } }
          : undefined
      const { status, body } = await own.request('GET /gitprovider/repos/:owner/:repo/clone-token', on('acme/shop'))
      expect(status).toBe(expected)
      if (expected === 409) expect(JSON.stringify(body)).not.toContain('ghs_x')
    } finally {
      await own.stop()
    }
  })
})
