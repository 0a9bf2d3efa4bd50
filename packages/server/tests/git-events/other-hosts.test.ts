// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { createHmac, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGiteaHost } from '../../../../tests/kit/git-hosts/gitea-host.ts'
import { startGitLabHost } from '../../../../tests/kit/git-hosts/gitlab-host.ts'
import type { PlainHost } from '../../../../tests/kit/git-hosts/plain-host.ts'
import { back } from '../git-host/scene.ts'
import { type Answer, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { files } from './scene.ts'

/** Deliveries of GitLab and Gitea, at the same route as GitHub's. */
describe.each(['gitlab', 'gitea'] as const)('%s', (provider) => {
  const name = provider === 'gitlab' ? 'acme/web/shop' : 'acme/shop'
  const cut = name.lastIndexOf('/')
  const params = { owner: name.slice(0, cut), repo: name.slice(cut + 1) }
  const stopping = new AbortController()
  let host: PlainHost
  let instance: TestInstance
  let people: People
  let project: { id: string; slug: string }

  beforeAll(async () => {
    host = await (provider === 'gitlab' ? startGitLabHost() : startGiteaHost())
    await host.createRepository(name, files('first'))
    const at = `BERTH_${provider.toUpperCase()}`
    instance = await startInstance({
      ...{ [`${at}_URL`]: host.url, [`${at}_CLIENT_ID`]: host.client.id, [`${at}_CLIENT_SECRET`]: host.client.secret },
      BERTH_PUBLIC_URL: 'http://berth.localhost',
    })
    await instance.running?.start(stopping.signal)
    await instance.jobs.start()
    people = await makePeople(instance)
    const { body } = await send('POST /gitprovider/connect', { query: { provider } })
    expect((await back(instance, host.authorize(body.url, 'ann'))).status).toBe(303)
    project = await makeProject(instance, people.owner.token, {
      gitProvider: provider,
      gitUrl: host.git.cloneUrl(name),
      gitBranch: 'main',
    })
    await on('POST', '/options', { previews: true })
    expect([200, 201]).toContain(
      (await send('POST /gitprovider/repos/:owner/:repo/webhooks', { params, query: { provider } })).status,
    )
  })
  afterAll(async () => {
    stopping.abort()
    await instance?.jobs.stop({ graceMs: 1_000 })
    await instance?.running?.stop()
    await instance?.stop()
    await host?.close()
  })

  const send = (at: Parameters<typeof call>[2], input = {}) => call(instance, people.owner.token, at, input)
  const on = (...given: Parameters<ReturnType<ReturnType<typeof callsOn>>>) =>
    callsOn(instance, people.owner.token)(project)(...given)

  const deliver = (event: 'push' | 'pull_request', payload: object, options: { id?: string; secret?: string } = {}) => {
    const hook = host.hooks.at(-1)!
    const { id = randomUUID(), secret = hook.secret } = options
    const body = JSON.stringify(payload)
    const headers: Record<string, string> =
      provider === 'gitlab'
        ? {
            ...{ 'x-gitlab-event': event === 'push' ? 'Push Hook' : 'Merge Request Hook' },
            ...{ 'x-gitlab-token': secret, 'x-gitlab-event-uuid': id },
          }
        : {
            ...{ 'x-gitea-event': event, 'x-gitea-delivery': id },
            'x-gitea-signature': createHmac('sha256', secret).update(body).digest('hex'),
          }
    const query = { hook: new URL(hook.url).searchParams.get('hook')! }
    return call(instance, null, 'POST /webhooks/git/:provider', { params: { provider }, query, body, headers })
  }
  const outcome = ({ status, body }: Answer) => [status, body.data?.outcome ?? body.code]

  const push = (commit: string, branch = 'main') => ({
    ...{ object_kind: 'push', ref: `refs/heads/${branch}`, after: commit },
    project: { path_with_namespace: name, default_branch: 'main' },
    repository: { full_name: name, default_branch: 'main' },
    commits: [{ id: commit, message: 'a change', author: { name: 'Ann' } }],
    head_commit: { id: commit, message: 'a change', author: { name: 'Ann' } },
  })
  const actions = { opened: 'open', synchronized: 'update', closed: 'merge' } as const
  const request = (action: keyof typeof actions, commit: string, { number = 3, from = 1 } = {}) => ({
    ...{ object_kind: 'merge_request', action, number, user: { username: 'bo' } },
    project: { path_with_namespace: name },
    repository: { full_name: name },
    object_attributes: {
      ...{ iid: number, action: actions[action], title: 'A better page', url: 'http://host/3', oldrev: 'a'.repeat(40) },
      ...{ source_branch: 'feature', target_branch: 'main', last_commit: { id: commit } },
      ...{ source_project_id: from, target_project_id: 1 },
    },
    pull_request: {
      ...{ number, title: 'A better page', html_url: 'http://host/3', user: { login: 'bo' } },
      head: { ref: 'feature', sha: commit, repo: { id: from, full_name: name } },
      base: { ref: 'main', repo: { id: 1, full_name: name } },
    },
  })
  const commitsOf = async (environment: string) =>
    (await send('GET /projects/:id/deployments', { params: { id: project.id }, query: { environment } })).body.data.map(
      (one: { trigger: string; commit: { sha: string } }) => [one.trigger, one.commit.sha],
    )

  test('a push is deployed and its commit gets a status; a repeated or forged push, or one of another branch, has no effect', async () => {
    const commit = await host.git.commit(name, files('second'))
    expect(outcome(await deliver('push', push(commit), { secret: 'a guess' }))).toEqual([401, 'unauthorized'])
    const id = randomUUID()
    expect(outcome(await deliver('push', push(commit), { id }))).toEqual([202, 'accepted'])
    expect(outcome(await deliver('push', push(commit), { id }))).toEqual([202, 'duplicate'])
    expect(outcome(await deliver('push', push(commit, 'next')))).toEqual([202, 'accepted'])
    expect(outcome(await deliver('push', { ...push('0'.repeat(40)) }))).toEqual([202, 'ignored'])
    await instance.jobs.whenIdle()
    expect(await commitsOf('production')).toEqual([['push', commit]])
    expect(host.statuses.at(-1)).toMatchObject({ repository: name, sha: commit, state: 'success' })
  })

  test('a merge request opens a preview, a new commit updates it, the merge removes it; that of a fork waits for approval', async () => {
    const first = await host.git.commit(name, files('one'), { branch: 'feature' })
    expect(outcome(await deliver('pull_request', request('opened', first)))).toEqual([202, 'accepted'])
    await instance.jobs.whenIdle()
    const second = await host.git.commit(name, files('two'), { branch: 'feature' })
    await deliver('pull_request', request('synchronized', second))
    await deliver('pull_request', request('opened', second, { number: 4, from: 2 }))
    await instance.jobs.whenIdle()
    expect(await commitsOf('pr-3')).toEqual([
      ['pull_request', second],
      ['pull_request', first],
    ])
    const requests = (await on('GET', '/pull-requests')).body.data
    expect(requests).toMatchObject([
      { number: 4, state: 'waiting', fork: true },
      { number: 3, state: 'active', fork: false, url: expect.stringContaining(`pr-3.${project.slug}`) },
    ])
    expect(host.comments.find(({ number }) => number === 3)?.body).toContain(requests[1].url)
    await deliver('pull_request', request('closed', second))
    await instance.jobs.whenIdle()
    expect((await on('GET', '/pull-requests')).body.data[1]).toMatchObject({ number: 3, state: 'closed', url: null })
    const slugs = (await on('GET', '/environments')).body.data.map(({ slug }: { slug: string }) => slug)
    expect(slugs).toEqual(['production'])
  })
})
