import { createHmac, randomUUID } from 'node:crypto'
import type { Deployment } from '@berth/contract'
import { type GitHubHost, startGitHubHost, tokens } from '../../../../tests/kit/git-hosts/github-host.ts'
import { type Answer, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

export const appSecret = 'the secret of the app, given by the operator'

/** A running instance with in-memory drivers, connected to a GitHub on loopback with real git behind it. */
export interface Scene {
  host: GitHubHost
  /** Settings of the instance. */
  settings: Record<string, string>
  instance: TestInstance
  people: People
  /** A repository with an app in it. */
  repository(): Promise<string>
  /** A project of that repository; its organisation's hook is on it. */
  project(name: string, people?: People, body?: object): Promise<{ id: string; slug: string }>
  connect(people: People): Promise<void>
  /** Comments on pull requests, as the host stores them; the emulator has no pull requests for the test's git repository. */
  comments: { at: string; body: string }[]
  deployments(projectId: string): Promise<Deployment[]>
  /** Resolves when all jobs have ended. */
  settled(): Promise<void>
  deliver(event: string, payload: object, options?: DeliverOptions): Promise<Answer>
  stop(): Promise<void>
}

export interface DeliverOptions {
  provider?: string
  secret?: string
  hook?: string
  id?: string
  raw?: string
  headers?: Record<string, string>
}

export async function startScene(): Promise<Scene> {
  const host = await startGitHubHost()
  const settings = {
    ...host.settings('app', 'oauth'),
    BERTH_GITHUB_WEBHOOK_SECRET: appSecret,
    BERTH_PUBLIC_URL: 'http://berth.localhost',
    BERTH_MAX_BUILDS: '8',
  }
  const instance = await startInstance(settings)
  const stopping = new AbortController()
  await instance.running?.start(stopping.signal)
  await instance.jobs.start()
  const people = await makePeople(instance)
  const connect = async ({ owner }: People) => {
    const { body } = await call(instance, owner.token, 'POST /gitprovider/connect', { body: { source: 'oauth' } })
    if (body.connected) return
    const back = await host.authorize(body.url, 'ann')
    await call(instance, null, 'GET /gitprovider/connect/redirect', { query: Object.fromEntries(back.searchParams) })
  }
  await connect(people)
  const comments: Scene['comments'] = []
  host.intercept = ({ method, path, json }) => {
    const [, owner, repo, number] = /^\/repos\/([^/]+)\/([^/]+)\/issues\/(\d+)\/comments$/.exec(path) ?? []
    const [, id] = /^\/repos\/[^/]+\/[^/]+\/issues\/comments\/(\d+)$/.exec(path) ?? []
    const known = comments[Number(id) - 1]
    if (known && method === 'PATCH') known.body = String(json().body)
    if (known) return { json: { id: Number(id), body: known.body } }
    const at = `${owner}/${repo}#${number}`
    if (!number) return undefined
    if (method === 'POST') return { status: 201, json: { id: comments.push({ at, body: String(json().body) }) } }
    return { json: comments.flatMap((one, index) => (one.at === at ? [{ id: index + 1, body: one.body }] : [])) }
  }
  let count = 0
  return {
    host,
    settings,
    instance,
    people,
    connect,
    comments,
    async repository() {
      const name = `ann/app-${++count}`
      await host.createRepository(name, files('first'))
      return name
    },
    async project(name, { owner } = people, body = {}) {
      const [gitOwner, gitRepo] = name.split('/') as [string, string]
      const made = await makeProject(instance, owner.token, {
        gitProvider: 'github',
        gitOwner,
        gitRepo,
        gitBranch: 'main',
        ...body,
      })
      const at = { params: { owner: gitOwner, repo: gitRepo } }
      const { status } = await call(instance, owner.token, 'POST /gitprovider/repos/:owner/:repo/webhooks', at)
      if (status > 201) throw new Error(`no hook was put on ${name}: ${status}`)
      return made
    },
    async deployments(projectId) {
      const rows = await instance.database.db
        .selectFrom('deployments')
        .selectAll()
        .where('projectId', '=', projectId)
        .orderBy('number')
        .execute()
      return rows as never
    },
    settled: () => instance.jobs.whenIdle(),
    deliver: (event, payload, { provider = 'github', secret = appSecret, hook, id = randomUUID(), raw, headers } = {}) => {
      const body = raw ?? JSON.stringify(payload)
      const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
      return call(instance, null, 'POST /webhooks/git/:provider', {
        params: { provider },
        query: hook ? { hook } : {},
        body,
        headers: { 'x-github-event': event, 'x-github-delivery': id, 'x-hub-signature-256': signature, ...headers },
      })
    },
    async stop() {
      stopping.abort()
      await instance.jobs.stop({ graceMs: 1_000 })
      await instance.running?.stop()
      await instance.stop()
      await host.close()
    },
  }
}

export { tokens }

export const files = (message: string) => ({
  'package.json': JSON.stringify({ name: 'app', scripts: { start: 'node server.js' } }),
  'server.js': `// ${message}`,
})

let pushes = 0

/** GitHub includes the time, so that no two are alike. */
export const push = (name: string, commit: string, branch = 'main') => ({
  ref: `refs/heads/${branch}`,
  after: commit,
  deleted: false,
  repository: { id: 1, full_name: name, default_branch: 'main', pushed_at: 1_790_000_000 + pushes++ },
  head_commit: { id: commit, message: 'a change', author: { name: 'Ann' } },
})

export interface PullRequestFacts {
  fork?: boolean
  number?: number
  /** Time of the change according to the host. */
  updatedAt?: string
}

export const pullRequest = (name: string, action: string, commit: string, more: PullRequestFacts = {}) => {
  const { fork = false, number = 7, updatedAt } = more
  return {
    action,
    number,
    repository: { id: 1, full_name: name },
    pull_request: {
      number,
      title: 'A better page',
      updated_at: updatedAt,
      html_url: `http://host/${name}/pull/${number}`,
      user: { login: 'bo' },
      head: { ref: 'feature', sha: commit, repo: { id: fork ? 2 : 1, full_name: fork ? 'bo/app' : name } },
      base: { ref: 'main', repo: { id: 1, full_name: name } },
    },
  }
}
