import { createHmac, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type CommitOptions, startGitServer } from '../git-server.ts'
import { serve } from '../http-server.ts'
import { DeviceLogins } from './device-logins.ts'
import { app, client, startEmulatedGitHub, tokens } from './emulated-github.ts'
import { type BranchUpdate, forwardGit, type GitCall, isForGit } from './git-proxy.ts'
import { CreatedApps } from './github-apps.ts'
import { suppliedRoutes } from './github-routes.ts'
import type { AppHook, GitHubState } from './github-state.ts'
import { passOn } from './pass-on.ts'
import { type Answer, type Call, matching, readCall, reply } from './web-app.ts'

export { app, client, tokens }

/** A GitHub host for tests. Its `url` serves the API, the pages and git. */
export interface GitHubHost extends GitHubState, AsyncDisposable {
  /** Settings with which an instance connects to this host; `parts` are the connection methods to configure. */
  settings(...parts: ('app' | 'oauth' | 'device')[]): Record<string, string>
  /** `METHOD /path` of every API call, with its token. */
  readonly calls: { what: string; token: string | null; status: number }[]
  createRepository(name: string, files?: Record<string, string>, options?: { private?: boolean }): Promise<string>
  /** Commits, and sends a signed delivery to every hook of the repository; returns the commit. */
  push(name: string, files: Record<string, string | null>, options?: CommitOptions): Promise<string>
  /** Awaited before the host responds to a git client; null: the host responds immediately. */
  onGit: ((call: GitCall) => Promise<void>) | null
  /** Tokens of git requests that were rejected. */
  readonly rejectedGitTokens: string[]
  /** Deliveries caused by a `git push` over HTTP, with each hook's response. */
  readonly pushed: PushDelivery[]
  /** Sends a signed delivery to every hook of the repository, and returns each response. */
  deliver(name: string, event: string, payload: object, deliveryId?: string): Promise<{ status: number; body: unknown }[]>
  /** Apps that were created from a manifest. */
  readonly apps: CreatedApps
  /** The URL to which the host redirects the browser after authorization. */
  authorize(url: string, login: keyof typeof tokens): Promise<URL>
  revoke(token: string): void
  /** If set, called first for each API call; its answer is sent instead of the host's. Undefined: the host answers. */
  intercept: ((call: Call, response: ServerResponse) => Answer | 'handled' | undefined) | null
  close(): Promise<void>
}

export interface PushDelivery {
  id: string
  commit: string
  payload: object
  answers: { status: number; body: unknown }[]
}

/**
 * GitHub for tests, on loopback: npm's `emulate` for the API, real git over smart HTTP for clones and pushes, and in front of both
 * a thin server that connects them and adds what the emulator lacks, following GitHub's public documentation.
 */
export async function startGitHubHost(): Promise<GitHubHost> {
  const git = await startGitServer()
  let answer: (request: IncomingMessage, response: ServerResponse) => Promise<void> = async () => {}
  const server = await serve((request, response) => {
    answer(request, response).catch((error) => response.writeHead(500).end(String(error)))
  })
  const emulated = await startEmulatedGitHub(server.url)
  const validTokens = new Set<string>(Object.values(tokens))
  const host: GitHubHost = {
    url: server.url,
    settings: (...parts) => ({
      BERTH_GITHUB_API_URL: server.url,
      BERTH_GITHUB_WEB_URL: server.url,
      ...(parts.includes('app')
        ? { BERTH_GITHUB_APP_ID: String(app.id), BERTH_GITHUB_PRIVATE_KEY: emulated.privateKey, BERTH_GITHUB_APP_SLUG: app.slug }
        : {}),
      ...(parts.includes('oauth') ? { BERTH_GITHUB_CLIENT_ID: client.id, BERTH_GITHUB_CLIENT_SECRET: client.secret } : {}),
      ...(parts.includes('device') ? { BERTH_GITHUB_CLIENT_ID: client.id } : {}),
    }),
    git,
    devices: new DeviceLogins(server.url),
    repositories: new Map(),
    statuses: [],
    hooks: [],
    calls: [],
    intercept: null,
    onGit: null,
    rejectedGitTokens: [],
    pushed: [],
    apps: new CreatedApps({
      ...{ url: server.url, privateKey: emulated.privateKey },
      authorize: (url, login) => host.authorize(url, login),
    }),
    revoke: (token) => void validTokens.delete(token),
    async createRepository(name, files = { 'README.md': `# ${name}\n` }, options = {}) {
      const [owner, repo] = name.split('/') as [string, string]
      const isUser = owner in tokens
      const made = await fetch(`${server.url}${isUser ? '/user/repos' : `/orgs/${owner}/repos`}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${isUser ? tokens[owner as 'ann'] : tokens.ann}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: repo, private: options.private ?? true, auto_init: true }),
      })
      if (made.status !== 201) throw new Error(`${name} was not created: ${made.status} ${await made.text()}`)
      await git.commit(name, files)
      return `${server.url}/${name}.git`
    },
    async push(name, files, options) {
      const commit = await git.commit(name, files, options)
      const { branch = 'main', message = 'change' } = options ?? {}
      await host.deliver(name, 'push', pushPayload({ repository: name, branch, commit, message, author: 'Test' }))
      return commit
    },
    deliver: (name, event, payload, deliveryId = randomUUID()) =>
      Promise.all(
        [
          ...host.hooks.filter(({ repository }) => repository.toLowerCase() === name.toLowerCase()),
          ...(host.apps.hook && name.startsWith('acme/') ? [host.apps.hook] : []),
        ]
          .filter(({ events }) => event === 'ping' || events.includes(event))
          .map((hook) => send(hook, event, payload, deliveryId)),
      ),
    async authorize(url, login) {
      const requested = new URL(url).searchParams
      const form = {
        login,
        redirect_uri: requested.get('redirect_uri') ?? '',
        state: requested.get('state') ?? '',
        client_id: requested.get('client_id') ?? '',
        scope: requested.get('scope') ?? '',
      }
      const back = await fetch(`${emulated.url}/login/oauth/callback`, {
        method: 'POST',
        body: new URLSearchParams(form),
        redirect: 'manual',
      })
      return new URL(back.headers.get('location') ?? 'about:blank')
    },
    close: async () => {
      await server.close()
      await emulated.close()
      await git.close()
    },
    [Symbol.asyncDispose]: () => host.close(),
  }
  const routes = Object.entries({ ...host.apps.routes(), ...suppliedRoutes(host, emulated.url, validTokens) }).map(
    ([pattern, route]) => ({
      match: matching(pattern),
      route,
    }),
  )

  answer = async (request, response) => {
    if (isForGit(new URL(request.url!, server.url).pathname))
      return forwardGit(request, response, {
        ...{ git, validTokens, onUpdate: deliverPush },
        onCall: async (call) => host.onGit?.(call),
        onRejectedToken: (token) => token && host.rejectedGitTokens.push(token),
      })
    const call = await readCall(request)
    const intercepted = host.intercept?.(call, response)
    if (intercepted === 'handled') return
    const given = intercepted ?? (await routed(call))
    const status = reply(call, response, given)
    host.calls.push({ what: `${call.method} ${call.path}`, token: call.token, status })
  }

  function deliverPush(update: BranchUpdate): void {
    const [id, payload] = [randomUUID(), pushPayload(update)]
    host.deliver(update.repository, 'push', payload, id).then(
      (answers) => host.pushed.push({ id, commit: update.commit, payload, answers }),
      (error) => host.pushed.push({ id, commit: update.commit, payload, answers: [{ status: 0, body: String(error) }] }),
    )
  }

  async function routed(call: Call): Promise<Answer> {
    // The emulator verifies a JSON web token of the app; every other token must have been issued and not revoked.
    const isJwt = call.token?.split('.').length === 3
    if (call.token && !isJwt && !validTokens.has(call.token)) return { status: 401, json: { message: 'Bad credentials' } }
    for (const { match, route } of routes) {
      const params = match(call)
      const given = params && (await route({ ...call, params }))
      if (given) return given
    }
    return passOn(call, emulated.url)
  }
  return host
}

const pushPayload = ({
  repository,
  branch,
  commit,
  message,
  author,
  before,
}: Omit<BranchUpdate, 'before'> & { before?: string }) => ({
  ...{ ref: `refs/heads/${branch}`, before, after: commit, deleted: false },
  repository: { id: 1, full_name: repository },
  head_commit: { id: commit, message, author: { name: author } },
  pusher: { name: author },
})

async function send(
  hook: AppHook,
  event: string,
  payload: object,
  deliveryId: string,
): Promise<{ status: number; body: unknown }> {
  const body = JSON.stringify(payload)
  const signature = createHmac('sha256', hook.secret).update(body).digest('hex')
  const response = await fetch(hook.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': deliveryId,
      'x-hub-signature-256': `sha256=${signature}`,
      'user-agent': 'GitHub-Hookshot/test',
    },
    body,
  })
  const text = await response.text()
  return { status: response.status, body: text ? JSON.parse(text) : null }
}
