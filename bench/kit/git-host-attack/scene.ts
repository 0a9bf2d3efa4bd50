import { createHmac, randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent } from 'undici'
import { type GitHubHost, tokens } from '../../../tests/kit/git-hosts/github-host.ts'
import { type Hosting, ownerSignIn } from '../../../tests/kit/hosting.ts'
import type { HttpServer } from '../../../tests/kit/http-server.ts'
import type { Answer as PlainAnswer } from '../attack.ts'

export type { Attack } from '../attack.ts'

export interface Answer extends PlainAnswer {
  headers: Record<string, string | string[] | undefined>
}

interface RequestOptions {
  body?: unknown
  raw?: string | Uint8Array<ArrayBuffer>
  headers?: Record<string, string>
}

export interface Person {
  token: string
  cookie: string
}

export interface Parcel {
  payload?: object
  raw?: string | Uint8Array<ArrayBuffer>
  secret?: string
  hook?: string | null
  event?: string
  id?: string
  provider?: string
  headers?: Record<string, string>
}

export const production = 'of-production-canary-77'
export const appSecret = 'the-secret-of-the-app-canary-12'
export const repository = 'acme/shop'
export const theirs = 'mallory/app'

/** An app that reports which variables it sees. */
export const app = (message: string) => ({
  'package.json': JSON.stringify({ name: 'app', type: 'module', scripts: { start: 'node server.js' } }),
  'server.js': `
import { createServer } from 'node:http'
const text = ${JSON.stringify(message)} + ' ' + JSON.stringify(process.env)
createServer((_, response) => response.end(text)).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`,
})

export type AttackScene = Awaited<ReturnType<typeof setAttackScene>>

/** Prepares a machine whose `gh` is signed in as bob. */
export async function signInGh(home: string, host: GitHubHost): Promise<void> {
  await mkdir(join(home, '.config', 'gh'), { recursive: true })
  const { host: name } = new URL(host.url)
  const text = `"${name}":\n    user: bob\n    oauth_token: ${tokens.bob}\n    git_protocol: https\n`
  await writeFile(join(home, '.config', 'gh', 'hosts.yml'), text)
}

/** The operators' organisation with a project of acme/shop, and mallory with her own organisation and repository. */
export async function setAttackScene(host: GitHubHost, hosting: Hosting, elsewhere: HttpServer) {
  const wrong: string[] = []
  const { url } = hosting.berth
  const agent = new Agent()
  async function send(who: Person | null, method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { body, raw, headers = {} } = options
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    // Does not use fetch, which would resolve the dots of a path before sending.
    const answer = await agent.request({
      origin: url,
      path: `/api${path}`,
      method: method as 'GET',
      headers: {
        ...(who ? { authorization: `Bearer ${who.token}` } : {}),
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
      signal: AbortSignal.timeout(60_000),
    })
    const text = await answer.body.text()
    const status = answer.statusCode
    if (status === 500) wrong.push(`${method} ${path.slice(0, 120)} answered 500: ${text.slice(0, 200)}`)
    return { status, text, headers: answer.headers, body: parsed(text) }
  }
  /** The status must be among the allowed ones, and the response must not contain another user's secrets. */
  function validate(name: string, { status, text, headers }: Answer, allowed: readonly number[]): void {
    const output = text + JSON.stringify(headers)
    for (const canary of [tokens.ann, tokens.bob, production, appSecret])
      if (output.includes(canary)) wrong.push(`${name}: the response contains ${canary}: ${text.slice(0, 200)}`)
    if (!allowed.includes(status)) wrong.push(`${name}: answered ${status}: ${text.slice(0, 200)}`)
  }
  const deliver = ({ payload = {}, raw, secret = 'a guess', hook, event = 'push', id = randomUUID(), ...more }: Parcel) => {
    const sent = raw ?? JSON.stringify(payload)
    const signature = `sha256=${createHmac('sha256', secret).update(sent).digest('hex')}`
    const path = `/webhooks/git/${more.provider ?? 'github'}${hook ? `?hook=${encodeURIComponent(hook)}` : ''}`
    const named = { 'x-github-event': event, 'x-github-delivery': id, 'x-hub-signature-256': signature }
    return send(null, 'POST', path, { raw: sent, headers: { ...named, ...more.headers } })
  }
  const connect = async (who: Person, source: 'app' | 'oauth', login: 'ann' | 'mallory') => {
    const { body } = await send(who, 'POST', '/gitprovider/connect', { body: source === 'oauth' ? { source } : {} })
    if (body.connected) return
    const back =
      source === 'oauth'
        ? (await host.authorize(body.url, login)).search
        : `?installation_id=100&state=${encodeURIComponent(new URL(body.url).searchParams.get('state')!)}`
    const { status, text } = await send(null, 'GET', `/gitprovider/connect/redirect${back}`)
    if (status !== 303) throw new Error(`${login} was not connected by ${source}: ${status} ${text}`)
  }
  const hookOf = (name: string) => {
    const hook = host.hooks.find((one) => one.repository === name)!
    return { secret: hook.secret, hook: new URL(hook.url).searchParams.get('hook')! }
  }

  const owner = await signIn(url, ownerSignIn)
  const mallory = await invite(url, owner)
  await connect(owner, 'app', 'ann')
  await connect(owner, 'oauth', 'ann')
  await connect(mallory, 'oauth', 'mallory')
  const project = async (who: Person, name: string) => {
    const [gitOwner, gitRepo] = name.split('/')
    const git = { gitProvider: 'github', gitOwner, gitRepo, gitBranch: 'main' }
    const made = await send(who, 'POST', '/projects', { body: { name: gitRepo, ...git, healthCheck: { path: '/' } } })
    if (made.status !== 201) throw new Error(`the project of ${name} was not created: ${made.text}`)
    await send(who, 'POST', `/projects/${made.body.data.id}/options`, { body: { previews: true } })
    const hooked = await send(who, 'POST', `/gitprovider/repos/${name}/webhooks`)
    if (hooked.status > 201) throw new Error(`the webhook of ${name} was not created: ${hooked.text}`)
    return made.body.data as { id: string; slug: string }
  }
  const shop = await project(owner, repository)
  const upserts = [{ key: 'SECRET', value: production, isSecret: true }]
  await send(owner, 'PATCH', `/projects/${shop.id}/env`, { body: { upserts } })
  const own = await project(mallory, theirs)
  return {
    ...{ wrong, host, hosting, elsewhere, request: send, validate, deliver, connect, hookOf, owner, mallory, shop, own },
    deployments: async (who: Person, { id }: { id: string }): Promise<number> =>
      (await send(who, 'GET', `/projects/${id}/deployments?limit=100`)).body?.data?.length ?? -1,
  }
}

const send = (url: string, path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${url}/api${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url, ...headers },
    body: JSON.stringify(body),
  })

async function personOf(url: string, session: Response): Promise<Person> {
  const cookie = session.headers.getSetCookie()[0]?.split(';')[0]
  if (!cookie) throw new Error(`not signed in: ${await session.text()}`)
  const { data } = (await (await send(url, '/tokens', { name: 'attack' }, { cookie })).json()) as { data: { token: string } }
  return { cookie, token: data.token }
}

const signIn = async (url: string, who: { email: string; password: string }): Promise<Person> =>
  personOf(url, await send(url, '/auth/login', who))

/** A user who is a member only of her own organisation. */
async function invite(url: string, owner: Person): Promise<Person> {
  const { cookie } = owner
  const made = (await (await send(url, '/organizations', { name: 'Mallory' }, { cookie })).json()) as { data: { id: string } }
  const email = 'mallory@example.test'
  const inThere = { cookie, 'x-organization-id': made.data.id }
  const invited = await send(url, '/invitations', { email, role: 'owner' }, inThere)
  const { data } = (await invited.json()) as { data: { code: string } }
  return personOf(url, await send(url, '/invitations/accept', { code: data.code, email, password: 'a long password of hers' }))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
