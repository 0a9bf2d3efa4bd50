import { type GitHubHost, startGitHubHost, type tokens } from '../../../../tests/kit/git-hosts/github-host.ts'
import type { Parts } from '../../src/instance/assemble/assemble.ts'
import { type Answer, type CallInput, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'

type At = Parameters<typeof call>[2]

export interface Scene {
  host: GitHubHost
  instance: TestInstance
  people: People
  /** Calls a route as the owner. */
  request(at: At, input?: CallInput): Promise<Answer>
  as(who: keyof Omit<People, 'organizationId'>): (at: At, input?: CallInput) => Promise<Answer>
  /** The browser's redirects to the host and back, without a session. */
  goThrough(url: string, login: keyof typeof tokens, headers?: Record<string, string>): Promise<Answer>
  stop(): Promise<void>
}

export const on = (name: string, input: CallInput = {}): CallInput => {
  const [owner, repo] = name.split('/') as [string, string]
  return { ...input, params: { owner, repo } }
}

/** An instance with its own GitHub host; `parts` are the parts of GitHub that are set up. */
export async function startScene(
  parts: Parameters<GitHubHost['settings']>,
  env: Record<string, string> = {},
  more: Partial<Parts> = {},
): Promise<Scene> {
  const host = await startGitHubHost()
  const instance = await startInstance({ ...host.settings(...parts), BERTH_PUBLIC_URL: 'http://berth.localhost', ...env }, more)
  const people = await makePeople(instance)
  const as = (who: keyof Omit<People, 'organizationId'>) => (at: At, input?: CallInput) =>
    call(instance, people[who].token, at, input)
  return {
    host,
    instance,
    people,
    request: as('owner'),
    as,
    goThrough: async (url, login, headers) => back(instance, await host.authorize(url, login), headers),
    stop: async () => {
      await instance.stop()
      await host.close()
    },
  }
}

/** The browser returns to the URL that the host redirects to. */
export function back(instance: TestInstance, address: URL, headers: Record<string, string> = {}): Promise<Answer> {
  return call(instance, null, 'GET /gitprovider/connect/redirect', { query: Object.fromEntries(address.searchParams), headers })
}

/** Connects the organisation to an account, only through the routes. */
export async function connectAccount(scene: Scene, login: keyof typeof tokens = 'ann', request = scene.request): Promise<void> {
  const { body } = await request('POST /gitprovider/connect', { body: { source: 'oauth' } })
  const { status } = await scene.goThrough(body.url, login)
  if (status !== 303) throw new Error(`the account was not connected: ${status}`)
}

/** Uses the link that the status shows, which also adds the app to a connected account. */
export async function connectApp(scene: Scene, request = scene.request): Promise<void> {
  const { body } = await request('GET /gitprovider/status')
  const state = new URL(body.installUrl).searchParams.get('state')!
  const query = { state, installation_id: '100', setup_action: 'install' }
  const { status } = await call(scene.instance, null, 'GET /gitprovider/connect/redirect', { query })
  if (status !== 303) throw new Error(`the app was not connected: ${status}`)
}
