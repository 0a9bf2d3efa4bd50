// gate: also on PostgreSQL, since it counts and deletes rows in SQL that no other file of the gate runs
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startGiteaHost } from '../../../../tests/kit/git-hosts/gitea-host.ts'
import { startGitLabHost } from '../../../../tests/kit/git-hosts/gitlab-host.ts'
import type { PlainHost } from '../../../../tests/kit/git-hosts/plain-host.ts'
import { type CallInput, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { back } from './scene.ts'

const at = '/gitprovider/applications/:provider'
let hosts: Record<'gitlab' | 'gitea', PlainHost>
let instance: TestInstance
let people: People
beforeAll(async () => {
  hosts = { gitlab: await startGitLabHost(), gitea: await startGiteaHost() }
  instance = await startInstance({ BERTH_PUBLIC_URL: 'http://berth.localhost' })
  people = await makePeople(instance)
  for (const host of Object.values(hosts)) await host.createRepository('acme/shop', { 'package.json': '{ "name": "shop" }' })
})
afterAll(async () => {
  await instance?.stop()
  await Promise.all(Object.values(hosts ?? {}).map((host) => host.close()))
})
const request = (route: Parameters<typeof call>[2], input: CallInput = {}) => call(instance, people.owner.token, route, input)

describe.each(['gitlab', 'gitea'] as const)('an OAuth application of %s, entered by an operator', (provider) => {
  const params = { provider }
  const query = { provider }
  const repository = { params: { owner: 'acme', repo: 'shop' }, query }
  const save = (more: object = {}) => {
    const { url, client } = hosts[provider]
    return request(`PUT ${at}`, { params, body: { url, clientId: client.id, clientSecret: client.secret, ...more } })
  }
  const connect = async () => {
    const { body } = await request('POST /gitprovider/connect', { query })
    expect((await back(instance, hosts[provider].authorize(body.url, 'ann'))).headers.location).toBe(`/git?connected=${provider}`)
  }
  const state = async () => (await request('GET /gitprovider/status', { query })).body.state
  const shown = async () =>
    (await request('GET /gitprovider/applications')).body.data.find((one: { provider: string }) => one.provider === provider)
  afterEach(async () => {
    await request(`DELETE ${at}`, { params })
  })

  test('is used at once: an account is connected, and its repositories are listed and read', async () => {
    const { status, body } = await save()
    expect([status, body.data]).toMatchObject([200, { origin: 'stored', kind: 'oauth', url: hosts[provider].url }])
    await connect()
    expect((await request('GET /gitprovider/repos', { query })).body.data).toMatchObject([{ fullName: 'acme/shop' }])
    expect((await request('GET /gitprovider/repos/:owner/:repo/branches', repository)).body.data).toMatchObject([
      { name: 'main' },
    ])
    expect(await shown()).toMatchObject({ connectedOrganizations: 1, clientId: hosts[provider].client.id })
    const stored = await instance.database.db.selectFrom('gitApplications').selectAll().execute()
    expect(JSON.stringify([stored, await shown()])).not.toContain(hosts[provider].client.secret)
    const audit = await request('GET /audit-log')
    expect(JSON.stringify(audit.body)).toContain(`PUT ${at}`)
    expect(JSON.stringify(audit.body)).not.toContain(hosts[provider].client.secret)
  })

  test('the same application with a new secret keeps its connections; another application ends them', async () => {
    await save()
    await connect()
    await save({ clientSecret: 'another' })
    expect(await state()).toBe('connected')
    await save({ clientId: 'another' })
    expect(await state()).toBe('disconnected')
  })

  test('another address of the host ends the connections, and projects keep their remote and their clone token', async () => {
    await save()
    await connect()
    const source = { gitProvider: provider, gitOwner: 'acme', gitRepo: 'shop', gitBranch: 'main' }
    const { body: made } = await request('POST /projects', { body: { name: `Kept ${provider}`, ...source } })
    const remote = `${hosts[provider].url}/acme/shop.git`
    expect(made.data.source).toMatchObject({ provider, url: remote })
    const sourceNow = async () => (await request('GET /projects/:id', { params: { id: made.data.id } })).body.data.source
    const calls = hosts[provider].calls.length
    await save({ url: 'http://127.0.0.1:9' })
    expect(await state()).toBe('disconnected')
    expect(await sourceNow()).toMatchObject({ provider: 'git', url: remote })
    expect(hosts[provider].calls.length).toBe(calls)
    await save()
    expect(await sourceNow()).toMatchObject({ provider, url: remote })
    await request(`DELETE ${at}`, { params })
    expect(await sourceNow()).toMatchObject({ provider: 'git', url: remote })
    await request('DELETE /projects/:id', { params: { id: made.data.id } })
  })

  test('a credential of one host is never sent to another: a row with another address is not used', async () => {
    await save()
    await connect()
    await instance.database.db.updateTable('gitConnections').set({ hostUrl: 'http://other.test' }).execute()
    const calls = hosts[provider].calls.length
    expect((await request('GET /gitprovider/repos', { query })).body).toMatchObject({ code: 'no_source' })
    expect(hosts[provider].calls.length).toBe(calls)
  })

  test.each([
    ['url', { url: 'ftp://git.example.com' }],
    ['url', { url: 'https://user:password@git.example.com' }],
    ['url', { url: 'https://git.example.com?x=1' }],
    ['clientId', { clientId: 'with space' }],
    ['clientSecret', { clientSecret: '' }],
  ])('400 names %s', async (field, body) => {
    const answer = await save(body)
    expect([answer.status, answer.body.field]).toEqual([400, field])
    expect(await shown()).toMatchObject({ isStored: false })
  })

  test('a row whose address was changed in the database cannot be decrypted, and is shown as a problem', async () => {
    await save()
    const changed = { url: 'http://evil.test', version: 'x' }
    await instance.database.db.updateTable('gitApplications').set(changed).where('provider', '=', provider).execute()
    expect(await shown()).toMatchObject({
      origin: 'none',
      isStored: true,
      problems: [expect.stringMatching(/cannot be decrypted/)],
    })
  })
})

test('an unknown host is 404', async () => {
  const body = { clientId: 'a', clientSecret: 'b' }
  expect((await request(`PUT ${at}`, { params: { provider: 'sourceforge' }, body })).status).toBe(404)
})
