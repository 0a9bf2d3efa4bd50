import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type GitServer, startGitServer } from '../git-server.ts'
import { serve } from '../http-server.ts'
import { type Answer, type Call, matching, type Route, readCall, reply } from './web-app.ts'

export interface PlainRepository {
  id: number
  owner: string
  name: string
  private: boolean
}

export interface PlainHook {
  id: number
  repository: string
  url: string
  secret: string
  active?: boolean
  events?: string[]
}

/** State of a host of the test kit. `acme` is an organisation of ann's; bob is not a member. */
export interface PlainState {
  readonly url: string
  readonly git: GitServer
  readonly tokens: Map<string, { login: string; id: number }>
  readonly repositories: Map<string, PlainRepository>
  readonly hooks: PlainHook[]
  readonly statuses: { repository: string; sha: string; state: string; context: string }[]
  readonly comments: { id: number; repository: string; number: number; body: string }[]
  /** Code or refresh token → its user; each is valid once. */
  readonly codes: Map<string, string>
  add(name: string, options?: { private?: boolean }): Promise<PlainRepository>
}

export interface PlainHost extends PlainState, AsyncDisposable {
  readonly client: { id: string; secret: string }
  readonly calls: { what: string; status: number }[]
  intercept: ((call: Call, response: ServerResponse) => Answer | 'handled' | undefined) | null
  createRepository(name: string, files: Record<string, string>): Promise<void>
  /** The URL that a browser would return to. */
  authorize(url: string, login: string): URL
  close(): Promise<void>
}

export const plainClient = { id: 'berth-client', secret: 'berth-client-secret' }
export const unauthorized: Answer = { status: 401, json: { message: '401 Unauthorized' } }
export const notFound: Answer = { status: 404, json: { message: '404 Not Found' } }

/**
 * A small server that follows a git host's public API documentation, on loopback, with real git repositories. It replaces hosts
 * whose own server is not available on the test machines.
 */
export async function startPlainHost(routesOf: (state: PlainState) => Record<string, Route>): Promise<PlainHost> {
  const git = await startGitServer()
  let routes: { match: ReturnType<typeof matching>; route: Route }[] = []
  const server = await serve((request, response) => {
    void readCall(request).then(async (call) => {
      const intercepted = host.intercept?.(call, response)
      if (intercepted === 'handled') return
      const status = reply(call, response, intercepted ?? (await routed(call)))
      host.calls.push({ what: `${call.method} ${call.path}`, status })
    })
  })
  async function routed(call: Call): Promise<Answer> {
    for (const { match, route } of routes) {
      const params = match(call)
      const given = params && (await route({ ...call, params }))
      if (given) return given
    }
    return notFound
  }
  let ids = 0
  const host: PlainHost = {
    url: server.url,
    git,
    client: plainClient,
    tokens: new Map([
      ['ann-token', { login: 'ann', id: 1 }],
      ['bob-token', { login: 'bob', id: 2 }],
    ]),
    repositories: new Map(),
    hooks: [],
    statuses: [],
    comments: [],
    codes: new Map(),
    calls: [],
    intercept: null,
    async add(name, options = {}) {
      const cut = name.lastIndexOf('/')
      const made = { id: ++ids, owner: name.slice(0, cut), name: name.slice(cut + 1), private: options.private ?? true }
      await git.createRepository(name)
      host.repositories.set(name, made)
      return made
    },
    async createRepository(name, files) {
      await host.add(name)
      await git.commit(name, files)
    },
    authorize(url, login) {
      const requested = new URL(url).searchParams
      const code = randomBytes(12).toString('hex')
      host.codes.set(code, login)
      const back = new URL(requested.get('redirect_uri')!)
      back.search = new URLSearchParams({ code, state: requested.get('state') ?? '' }).toString()
      return back
    },
    close: async () => {
      await server.close()
      await git.close()
    },
    [Symbol.asyncDispose]: () => host.close(),
  }
  routes = Object.entries(routesOf(host)).map(([pattern, route]) => ({ match: matching(pattern), route }))
  return host
}

/** OAuth 2: a code or a refresh token is exchanged once, for a token that is valid for two hours. */
export const tokenRoute =
  (state: PlainState): Route =>
  (call) => {
    const form = new URLSearchParams(call.body.toString())
    const grant = form.get('grant_type') === 'refresh_token' ? form.get('refresh_token') : form.get('code')
    const login = state.codes.get(grant ?? '')
    const isClient = form.get('client_id') === plainClient.id && form.get('client_secret') === plainClient.secret
    if (!login || !isClient) return { status: 400, json: { error: 'invalid_grant', error_description: 'The grant is invalid' } }
    state.codes.delete(grant!)
    const [access, refresh] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')]
    state.tokens.set(access, { login, id: login === 'ann' ? 1 : 2 })
    state.codes.set(refresh, login)
    return { json: { access_token: access, token_type: 'Bearer', expires_in: 7200, refresh_token: refresh } }
  }

/** Repositories that a token's owner may see: their own and public ones, and for ann those in `acme` and below. */
export const visible = (state: PlainState, call: Call): PlainRepository[] => {
  const login = state.tokens.get(call.token ?? '')?.login
  return [...state.repositories.values()].filter(
    ({ owner, private: isPrivate }) => owner === login || !isPrivate || (login === 'ann' && owner.split('/')[0] === 'acme'),
  )
}
