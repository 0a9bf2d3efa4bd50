import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tokens } from '../../../../tests/kit/git-hosts/github-host.ts'
import { describeNeeding } from '../../../../tests/kit/machine.ts'
import { call } from '../kit/call.ts'
import { makePeople } from '../kit/people.ts'
import { on, type Scene, startScene } from './scene.ts'

describeNeeding(['gh'], 'the command-line login of the host, with a real gh', () => {
  let scene: Scene
  const home = mkdtempSync(join(tmpdir(), 'berth-gh-'))
  beforeAll(async () => {
    scene = await startScene([], { HOME: home, PATH: process.env.PATH ?? '' })
    await scene.host.createRepository('acme/shop')
  })
  afterAll(async () => {
    await scene?.stop()
    rmSync(home, { recursive: true, force: true })
  })
  const signIn = (token: string) => {
    mkdirSync(join(home, '.config', 'gh'), { recursive: true })
    const host = new URL(scene.host.url).host
    writeFileSync(
      join(home, '.config', 'gh', 'hosts.yml'),
      `"${host}":\n    user: ann\n    oauth_token: ${token}\n    git_protocol: https\n`,
    )
  }

  test('without a login the response names the command to run in a terminal', async () => {
    expect((await scene.request('GET /gitprovider/local-status')).body.data).toMatchObject({
      available: false,
      login: null,
      reason: expect.stringContaining('no login'),
    })
    expect((await scene.request('POST /gitprovider/connect')).body).toMatchObject({
      connected: false,
      flow: 'terminal',
      command: `gh auth login --hostname ${new URL(scene.host.url).host}`,
      message: expect.any(String),
    })
  })

  test('a login is used, read again for each call, and not stored', async () => {
    signIn(tokens.ann)
    expect((await scene.request('GET /gitprovider/local-status')).body.data).toMatchObject({
      available: true,
      login: 'ann',
      reason: null,
    })
    expect((await scene.request('POST /gitprovider/connect', { body: { source: 'cli' } })).body).toEqual({ connected: true })
    expect((await scene.request('GET /gitprovider/status')).body).toMatchObject({
      state: 'connected',
      sources: { cli: true },
      accounts: [{ login: 'ann', source: 'cli' }],
    })
    expect((await scene.request('GET /gitprovider/repos/:owner/:repo', on('acme/shop'))).body.data).toMatchObject({
      source: 'cli',
    })
    expect((await scene.request('GET /gitprovider/repos/:owner/:repo/clone-token', on('acme/shop'))).body.code).toBe(
      'no_app_installation',
    )
    const rows = await scene.instance.database.db.selectFrom('gitConnections').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(tokens.ann)
    rmSync(join(home, '.config', 'gh', 'hosts.yml'))
    expect((await scene.request('GET /gitprovider/repos')).body.code).toBe('no_source')
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('error')
  })

  test('the login of the machine can be used only by the organisation of the operators', async () => {
    signIn(tokens.ann)
    const others = await makePeople(scene.instance)
    const request = (at: Parameters<typeof call>[2], input = {}) => call(scene.instance, others.owner.token, at, input)
    expect((await request('GET /gitprovider/local-status')).body.data).toMatchObject({ available: false, login: null })
    expect((await request('POST /gitprovider/connect', { body: { source: 'cli' } })).status).toBe(403)
    expect((await request('POST /gitprovider/connect')).body.code).toBe('no_source')
    expect((await scene.as('member')('POST /gitprovider/connect', { body: { source: 'cli' } })).status).toBe(403)
    // A row that was inserted by hand gives no access either.
    await scene.request('POST /gitprovider/connect', { body: { source: 'cli' } })
    await scene.instance.database.db.updateTable('gitConnections').set({ organizationId: others.organizationId }).execute()
    expect((await request('GET /gitprovider/repos')).body.code).toBe('no_source')
  })
})
