// gate: also on PostgreSQL, since an approval meets a newer commit
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { callsOn } from '../kit/projects.ts'
import { files, type PullRequestFacts, pullRequest, type Scene, startScene } from './scene.ts'

let scene: Scene
let name: string
let project: { id: string; slug: string }
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  scene = await startScene()
})
beforeEach(async () => {
  name = await scene.repository()
  project = await scene.project(name, scene.people, { previews: true, volumes: [{ name: 'data', mountPath: '/data' }] })
  on = callsOn(scene.instance, scene.people.owner.token)(project)
  await on('PATCH', '/env', { upserts: [{ key: 'PRODUCTION_SECRET', value: 'of production', isSecret: true }] })
})
afterAll(() => scene?.stop())

const send = async (action: string, commit: string, more: PullRequestFacts = {}) => {
  const hook = scene.host.hooks.find(({ repository }) => repository === name)!
  const options = { secret: hook.secret, hook: new URL(hook.url).searchParams.get('hook')! }
  expect((await scene.deliver('pull_request', pullRequest(name, action, commit, more), options)).status).toBe(202)
  await scene.settled()
}
const commit = (message: string) => scene.host.git.commit(name, files(message), { branch: 'feature' })
const slugs = async () => (await on('GET', '/environments')).body.data.map(({ slug }: { slug: string }) => slug)
const known = async (number = 7) =>
  (await on('GET', '/pull-requests')).body.data.find((one: { number: number }) => one.number === number)
const hostOf = (slug = 'pr-7') => scene.instance.drivers.edge.table.hosts[`${slug}.${project.slug}.localhost`]
const running = (environment = 'pr-7') =>
  [...scene.instance.drivers.runtime.running.values()].filter(
    ({ request: { owner } }) => owner.projectId === project.id && owner.environment === environment,
  )
const statusesOf = (sha: string) => scene.host.statuses.filter((one) => one.sha === sha)

describe('a pull request', () => {
  test('opens a preview with its own URL, a new commit updates it, closing removes container, route, env and volume', async () => {
    const first = await commit('one')
    await send('opened', first)
    const url = `http://pr-7.${project.slug}.localhost:4080`
    expect(await known()).toMatchObject({ state: 'active', environment: 'pr-7', url, fork: false, commit: first, author: 'bo' })
    expect([(await slugs()).at(-1), hostOf()?.target.kind, running().length]).toEqual(['pr-7', 'upstreams', 1])
    expect(statusesOf(first).at(-1)).toMatchObject({ state: 'success', context: `berth/${project.slug}/pr-7`, targetUrl: url })
    const comments = () => scene.comments.filter(({ at }) => at === `${name}#7`)
    expect(comments()).toEqual([{ at: `${name}#7`, body: expect.stringContaining(url) }])
    await on('PATCH', '/env', { environment: 'pr-7', upserts: [{ key: 'OWN', value: 'x' }] })
    const second = await commit('two')
    await send('synchronize', second)
    const rows = await scene.deployments(project.id)
    expect(rows.map(({ trigger, environment, status }) => [trigger, environment, status])).toEqual([
      ['pull_request', 'pr-7', 'superseded'],
      ['pull_request', 'pr-7', 'live'],
    ])
    expect(running()[0]?.request.env).toMatchObject({ OWN: 'x' })
    await send('closed', second)
    expect([await slugs(), hostOf(), running()]).toEqual([['production'], undefined, []])
    const { db } = scene.instance.database
    for (const table of ['envVariables', 'volumes', 'liveEnvironments', 'instances'] as const)
      expect(
        await db.selectFrom(table).selectAll().where('environment', '=', 'pr-7').where('projectId', '=', project.id).execute(),
      ).toEqual([])
    expect(await known()).toMatchObject({ state: 'closed', url: null })
    expect(comments()).toEqual([{ at: `${name}#7`, body: expect.stringContaining('was removed') }])
    await send('closed', second)
    await send('reopened', second)
    expect([(await slugs()).at(-1), (await known()).state]).toEqual(['pr-7', 'active'])
  })

  test('that is replayed with a valid signature and a new id does not restore an earlier state', async () => {
    const [first, second] = [await commit('one'), await commit('two')]
    const at = (hour: number) => ({ updatedAt: `2026-11-16T${hour}:00:00Z` })
    await send('opened', first, at(10))
    await send('synchronize', second, at(11))
    await send('opened', first, at(10))
    expect(await known()).toMatchObject({ state: 'active', commit: second })
    await send('closed', second, at(12))
    await send('synchronize', second, at(11))
    expect([await slugs(), (await known()).state]).toEqual([['production'], 'closed'])
    await send('reopened', second, at(13))
    await send('closed', second, at(12))
    expect([(await slugs()).at(-1), (await known()).state]).toEqual(['pr-7', 'active'])
  })

  test('has no effect with previews off, nor on a disabled project', async () => {
    await on('POST', '/options', { previews: false })
    await send('opened', await commit('one'))
    expect([await known(), await slugs()]).toEqual([undefined, ['production']])
    await on('POST', '/options', { previews: true })
    await on('POST', '/disable')
    await send('synchronize', await commit('two'))
    expect(await slugs()).toEqual(['production'])
  })

  test('beyond previewsMaximum waits with a message at the host, and gets its preview when another one is removed', async () => {
    await on('POST', '/options', { previewsMaximum: 1 })
    const sha = await commit('one')
    await send('opened', sha, { number: 1 })
    await send('opened', sha, { number: 2 })
    expect(await known(2)).toMatchObject({ state: 'blocked', reason: expect.stringContaining('previewsMaximum'), url: null })
    expect(statusesOf(sha).some(({ state, context }) => state === 'failure' && context.endsWith('/pr-2'))).toBe(true)
    expect(await slugs()).toEqual(['production', 'pr-1'])
    await send('closed', sha, { number: 1 })
    expect([await slugs(), (await known(2)).state]).toEqual([['production', 'pr-2'], 'active'])
  })

  test('without a push for previewsMaxAgeDays loses its preview, and a push creates it again', async () => {
    await send('opened', await commit('one'))
    const { db } = scene.instance.database
    const old = Date.now() - 31 * 24 * 60 * 60_000
    await db.updateTable('pullRequests').set({ updatedAt: old }).where('projectId', '=', project.id).execute()
    await scene.instance.database.transaction(({ enqueue }) => enqueue({ kind: 'git-events.tidy' }, {}))
    await scene.settled()
    expect(await known()).toMatchObject({ state: 'expired', reason: expect.stringContaining('30 days') })
    expect(await slugs()).toEqual(['production'])
    await send('synchronize', await commit('two'))
    expect(await known()).toMatchObject({ state: 'active', reason: null })
  })
})

describe('variables of a preview', () => {
  test('are its own and those of the environment preview; those of production only if a user with project:admin allows it', async () => {
    await on('POST', '/environments', { name: 'Preview' })
    await on('PATCH', '/env', { environment: 'preview', upserts: [{ key: 'SHARED', value: 'of previews' }] })
    await send('opened', await commit('one'))
    const env = () => running()[0]!.request.env
    expect(env()).toMatchObject({ SHARED: 'of previews' })
    expect(env()).not.toHaveProperty('PRODUCTION_SECRET')
    const report = (token: string) =>
      callsOn(scene.instance, token)(project)('POST', '/preview-variables', { fromProduction: true })
    expect((await report(scene.people.member.token)).status).toBe(403)
    await send('synchronize', await commit('two'))
    expect(env()).not.toHaveProperty('PRODUCTION_SECRET')
    expect((await report(scene.people.admin.token)).body.data.config.previewsUseProductionVariables).toBe(true)
    await send('synchronize', await commit('three'))
    expect(env()).toMatchObject({ PRODUCTION_SECRET: 'of production', SHARED: 'of previews' })
  })
})

describe('a fork’s pull request', () => {
  const approve = (body?: object, token = scene.people.admin.token) =>
    callsOn(scene.instance, token)(project)('POST', '/pull-requests/7/approve', body)

  test('is not built before a user with project:admin approves each commit, and never gets variables of production', async () => {
    await on('POST', '/preview-variables', { fromProduction: true })
    const first = await commit('one')
    await send('opened', first, { fork: true })
    expect(await known()).toMatchObject({ state: 'waiting', fork: true, reason: expect.stringContaining('approve') })
    expect([await slugs(), await scene.deployments(project.id)]).toEqual([['production'], []])
    expect(statusesOf(first).at(-1)).toMatchObject({ state: 'pending' })
    expect((await approve(undefined, scene.people.member.token)).status).toBe(403)
    expect((await approve({ commit: 'f'.repeat(40) })).status).toBe(409)
    expect(await approve({ commit: first })).toMatchObject({
      status: 202,
      body: { data: { state: 'active', approvedCommit: first } },
    })
    await scene.settled()
    expect(running()).toHaveLength(1)
    expect(running()[0]!.request.env).not.toHaveProperty('PRODUCTION_SECRET')
    const second = await commit('two')
    await send('synchronize', second, { fork: true })
    expect(await known()).toMatchObject({ state: 'waiting', commit: second, approvedCommit: first })
    expect(await scene.deployments(project.id)).toHaveLength(1)
    await send('closed', second, { fork: true })
    expect(await slugs()).toEqual(['production'])
  })

  test('approved while it gets another commit or is closed never runs an unapproved commit, and leaves no resources', async () => {
    const first = await commit('one')
    await send('opened', first, { fork: true })
    const second = await commit('two')
    await Promise.all([approve({ commit: first }), send('synchronize', second, { fork: true })])
    await scene.settled()
    expect(await known()).toMatchObject({ state: 'waiting', commit: second })
    const rows = (await scene.deployments(project.id)) as unknown as { commitSha: string }[]
    expect(rows.map(({ commitSha }) => commitSha)).not.toContain(second)
    await Promise.all([approve({ commit: second }), send('closed', second, { fork: true })])
    await scene.settled()
    expect([(await known()).state, await slugs(), running()]).toEqual(['closed', ['production'], []])
  })

  test('with the number of an earlier pull request of the repository itself gets no variables of production either', async () => {
    await on('POST', '/preview-variables', { fromProduction: true })
    await send('opened', await commit('one'))
    expect(running()[0]!.request.env).toHaveProperty('PRODUCTION_SECRET')
    await send('synchronize', await commit('two'), { fork: true })
    expect((await approve()).status).toBe(202)
    await scene.settled()
    expect(running()[0]!.request.env).not.toHaveProperty('PRODUCTION_SECRET')
  })

  test('deployed again after a pull request of the repository itself got its number, still gets no variables of production', async () => {
    await on('POST', '/preview-variables', { fromProduction: true })
    await send('opened', await commit('one'), { fork: true })
    await approve()
    await scene.settled()
    const [ofFork] = (await scene.deployments(project.id)) as unknown as { id: string }[]
    await send('synchronize', await commit('two'))
    expect(running()[0]!.request.env).toHaveProperty('PRODUCTION_SECRET')
    const again = await call(scene.instance, scene.people.member.token, 'POST /deployments/:id/redeploy', {
      params: { id: ofFork!.id },
    })
    expect(again.status).toBe(202)
    await scene.settled()
    expect(running()[0]!.request.env).not.toHaveProperty('PRODUCTION_SECRET')
  })

  test('404: approving an unreported pull request; 409: one that is not waiting', async () => {
    expect((await approve()).status).toBe(404)
    await send('opened', await commit('one'))
    expect((await approve()).status).toBe(409)
  })
})

describe('pull requests that are open before previews are enabled', () => {
  /** GitHub lists these pull requests of the repository. */
  const list = (...requests: ReturnType<typeof pullRequest>[]) => {
    const usual = scene.host.intercept
    scene.host.intercept = (call, response) =>
      call.method === 'GET' && call.path === `/repos/${name}/pulls`
        ? { json: requests.map(({ pull_request }) => pull_request) }
        : usual?.(call, response)
    return () => {
      scene.host.intercept = usual
    }
  }

  test('get their previews when previews are enabled; that of a fork waits for its approval', async () => {
    await on('PATCH', '', { previews: false })
    const head = await commit('opened long ago')
    const end = list(pullRequest(name, 'opened', head), pullRequest(name, 'opened', head, { number: 8, fork: true }))
    try {
      await on('PATCH', '', { name: 'Renamed' })
      await scene.settled()
      expect(await known()).toBeUndefined()
      await on('PATCH', '', { previews: true })
      await scene.settled()
      expect(await known()).toMatchObject({ state: 'active', environment: 'pr-7', commit: head })
      expect(await known(8)).toMatchObject({ state: 'waiting', fork: true })
      expect([await slugs(), running().length]).toEqual([['production', 'pr-7'], 1])
      const deployed = (await scene.deployments(project.id)).length
      await send('synchronize', head)
      expect(await scene.deployments(project.id)).toHaveLength(deployed)
    } finally {
      end()
    }
  })

  test('get their previews when the project is created with previews', async () => {
    const head = await commit('opened long ago')
    const end = list(pullRequest(name, 'opened', head))
    try {
      const other = await scene.project(name, scene.people, { previews: true })
      await scene.settled()
      const { body } = await callsOn(scene.instance, scene.people.owner.token)(other)('GET', '/pull-requests')
      expect(body.data).toMatchObject([{ number: 7, state: 'active' }])
    } finally {
      end()
    }
  })
})
