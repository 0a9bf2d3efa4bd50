// gate: also on PostgreSQL, since three requests set up one hook
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tokens } from '../../../../tests/kit/git-hosts/github-host.ts'
import { call } from '../kit/call.ts'
import { makePeople, type People } from '../kit/people.ts'
import { connectAccount, on, type Scene, startScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene(['oauth'], { BERTH_GITHUB_WEBHOOK_SECRET: 'the instance secret' })
  await connectAccount(scene)
})
afterAll(() => scene?.stop())

let count = 0
const repository = async () => {
  const name = `acme/hooked-${++count}`
  await scene.host.createRepository(name)
  return name
}
const webhooks = 'GET /gitprovider/repos/:owner/:repo/webhooks'
const register = (name: string, token = scene.people.owner.token) =>
  call(scene.instance, token, 'POST /gitprovider/repos/:owner/:repo/webhooks', on(name))

test('registers the push webhook, or reuses the existing one', async () => {
  const name = await repository()
  const made = await register(name)
  expect([made.status, made.body.data]).toMatchObject([
    201,
    {
      url: expect.stringMatching(/^http:\/\/berth\.localhost\/api\/webhooks\/git\/github\?hook=gwh_/),
      events: ['push', 'pull_request'],
      active: true,
      ours: true,
    },
  ])
  const again = await register(name)
  expect([again.status, again.body.data.id]).toEqual([200, made.body.data.id])
  expect(scene.host.hooks.filter(({ repository }) => repository === name)).toHaveLength(1)
  expect((await scene.request(webhooks, on(name))).body.data).toMatchObject([{ id: made.body.data.id, ours: true }])
})

test('concurrent requests create one webhook, and its secret is the stored one', async () => {
  const name = 'acme/at-once'
  await scene.host.createRepository(name)
  const answers = await Promise.all([1, 2, 3].map(() => scene.request('POST /gitprovider/repos/:owner/:repo/webhooks', on(name))))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201])
  expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1)
  const hooks = scene.host.hooks.filter(({ repository }) => repository === name)
  expect(hooks).toHaveLength(1)
  const secrets = await scene.instance.gitHost.webhookSecretsFor('github', 'acme', 'at-once')
  expect(secrets.map(({ secret }) => secret.reveal())).toContain(hooks[0]!.secret)
})

test('a webhook that was removed at the host is created again', async () => {
  const name = await repository()
  const first = await register(name)
  await fetch(`${scene.host.url}/repos/${name}/hooks/${first.body.data.id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${tokens.ann}` },
  })
  const second = await register(name)
  expect(second.status).toBe(201)
  expect(scene.host.hooks.filter(({ repository }) => repository === name)).toHaveLength(1)
})

test('a webhook that exists only at the host is adopted with a new secret', async () => {
  const name = await repository()
  const first = await register(name)
  const secret = scene.host.hooks.at(-1)!.secret
  await scene.instance.database.db.deleteFrom('gitWebhooks').where('hookId', '=', first.body.data.id).execute()
  const second = await register(name)
  expect([second.status, second.body.data.id]).toEqual([200, first.body.data.id])
  expect(scene.host.hooks.at(-1)!.secret).not.toBe(secret)
})

test('removes a webhook: 204, then 404', async () => {
  const name = await repository()
  const { id } = (await register(name)).body.data
  const remove = (token: string) =>
    call(scene.instance, token, 'DELETE /gitprovider/repos/:owner/:repo/webhooks', on(name, { body: { hookId: id } }))
  expect((await remove(scene.people.member.token)).status).toBe(403)
  expect((await remove(scene.people.owner.token)).status).toBe(204)
  expect((await remove(scene.people.owner.token)).status).toBe(404)
  expect((await scene.request(webhooks, on(name))).body.data).toEqual([])
  expect(await scene.instance.gitHost.webhookSecretsFor('github', ...(name.split('/') as [string, string]))).toHaveLength(1)
})

test('the full address of another service is shown to admins; others see only its host', async () => {
  const name = await repository()
  const url = 'https://ci.example.test/hook/secret-part?token=canary'
  await fetch(`${scene.host.url}/repos/${name}/hooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.ann}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'web', active: true, events: ['push'], config: { url, secret: 'x' } }),
  })
  expect((await scene.request(webhooks, on(name))).body.data).toMatchObject([{ url, ours: false }])
  expect((await scene.as('viewer')(webhooks, on(name))).body.data).toMatchObject([
    { url: 'https://ci.example.test/…', ours: false },
  ])
})

test('the secret is stored encrypted', async () => {
  const name = await repository()
  await register(name)
  const { secret } = scene.host.hooks.at(-1)!
  const rows = await scene.instance.database.db.selectFrom('gitWebhooks').selectAll().execute()
  expect(JSON.stringify(rows)).not.toContain(secret)
})

describe('a delivery', () => {
  let name: string
  let others: People
  const body = (repo: string) =>
    Buffer.from(JSON.stringify({ ref: 'refs/heads/main', after: 'a'.repeat(40), repository: { full_name: repo } }))
  const signed = (rawBody: Buffer, secret: string) => ({
    'x-github-event': 'push',
    'x-github-delivery': 'd-1',
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(rawBody).digest('hex')}`,
  })
  const hookOf = (url: string) => new URL(url).searchParams.get('hook')
  beforeAll(async () => {
    name = await repository()
    await register(name)
    others = await makePeople(scene.instance)
    await connectAccount(scene, 'bob', (at, input) => call(scene.instance, others.owner.token, at, input))
    expect((await register(name, others.owner.token)).status).toBe(201)
  })
  const verify = (rawBody: Buffer, secret: string, hook?: string | null) =>
    scene.instance.gitHost.verifyDelivery({ provider: 'github', headers: signed(rawBody, secret), rawBody, hook: hook ?? null })

  test('of one of two organisations on a repository is seen by that organisation only: each has its own webhook and secret', async () => {
    const hooks = scene.host.hooks.filter(({ repository }) => repository === name)
    expect(new Set(hooks.map(({ secret }) => secret)).size).toBe(2)
    const organizations = [scene.people.organizationId, others.organizationId]
    for (const [at, { secret, url }] of hooks.entries()) {
      expect(await verify(body(name), secret, hookOf(url))).toMatchObject({
        organizationIds: [organizations[at]],
        delivery: { kind: 'push' },
      })
      // Without a webhook id in the address, the secrets of the repository are tried.
      expect(await verify(body(name), secret)).toMatchObject({ organizationIds: [organizations[at]] })
      expect(await verify(body(name), secret, hookOf(hooks[1 - at]!.url))).toBeNull()
    }
  })

  test('signed with the secret of the instance is handled for every organisation; with a wrong one for none', async () => {
    expect(await verify(body(name), 'the instance secret')).toMatchObject({
      organizationIds: 'all',
      delivery: { branch: 'main' },
    })
    expect(await verify(body(name), 'wrong')).toBeNull()
  })

  test('signed with the secret of one repository is invalid for another repository', async () => {
    const { secret, url } = scene.host.hooks.find(({ repository }) => repository === name)!
    const other = await repository()
    await register(other)
    expect(await verify(body(other), secret, hookOf(url))).toMatchObject({ delivery: null })
    expect(await verify(body(other), secret)).toBeNull()
  })

  test('of a repository renamed at the host is identified by its webhook', async () => {
    const { secret, url } = scene.host.hooks.find(({ repository }) => repository === name)!
    const [owner, repo] = name.split('/')
    expect(await verify(body('acme/a-new-name'), secret, hookOf(url))).toMatchObject({
      delivery: { kind: 'push', repository: { owner, repo }, branch: 'main' },
    })
  })

  test('updates the last delivery of the webhook', async () => {
    const { secret, url } = scene.host.hooks.find(({ repository }) => repository === name)!
    const verified = await verify(body(name), secret, hookOf(url))
    await scene.instance.gitHost.recordDeliveryTime(verified!.webhookIds)
    const [owner, repo] = name.split('/') as [string, string]
    const shown = await scene.instance.gitHost.webhookOf(scene.people.organizationId, { provider: 'github', owner, repo })
    expect(shown).toMatchObject({ active: true, url, lastDeliveryAt: expect.any(String) })
  })
})
