import type { Octokit, App as OctokitApp } from 'octokit'
import type { Secret } from '../../../platform/secrets/secret.ts'
import { hashToken } from '../../../platform/secrets/token.ts'
import { withinLimits } from '../deadline.ts'
import type { Access, CallLimits } from '../git-host.ts'
import { GitHostError } from '../git-host-error.ts'
import { createHostFetch, type HostFetch } from '../host-fetch.ts'
import { PageCache } from '../page-cache.ts'
import { asGitHostError } from './github-errors.ts'

export interface GitHubSettings {
  apiUrl: string
  webUrl: string
  appId: number | null
  privateKey: Secret | null
  appSlug: string | null
  clientId: string | null
  clientSecret: Secret | null
}

/** Work with an Octokit client for one call; the signal aborts it. */
export type OctokitWork = (octokit: Octokit, signal: AbortSignal) => Promise<unknown>

const maxClients = 200
/** Longest rate limit that is waited for, since a user waits for the response; a longer one is reported. */
const maxWaitSeconds = 2

/** Octokit with its throttling and retry plugins and Berth's own fetch, one client per access. Loaded at the first call. */
export class GitHubClient {
  readonly title: string
  readonly fetch: HostFetch
  readonly pages = new PageCache()
  readonly settings: GitHubSettings
  readonly #clients = new Map<string, Promise<Octokit>>()
  #parts: Promise<{ Octokit: typeof Octokit; app: OctokitApp | null; throttle: object }> | undefined

  constructor(settings: GitHubSettings) {
    this.settings = settings
    this.title = `GitHub (${new URL(settings.webUrl).host})`
    this.fetch = createHostFetch({ title: this.title, bases: [settings.apiUrl, settings.webUrl] })
  }

  /** Converts every failure of the work to a `GitHostError`. */
  request<Result>(
    access: Access | 'app' | 'anonymous',
    limits: CallLimits | undefined,
    work: (octokit: Octokit, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    return withinLimits(this.title, limits ?? {}, async (signal) => {
      try {
        return await work(await this.#octokitFor(access), signal)
      } catch (error) {
        throw signal.aborted ? error : asGitHostError(error, this.title)
      }
    })
  }

  async #octokitFor(access: Access | 'app' | 'anonymous'): Promise<Octokit> {
    if (access === 'app') return this.#appClient()
    return access === 'anonymous' ? new (await this.#load()).Octokit() : this.#clientOf(access)
  }

  async #appClient(): Promise<Octokit> {
    const { app } = await this.#load()
    if (!app) throw new GitHostError('unauthorized', `This instance has no app at ${this.title}`)
    return app.octokit as Octokit
  }

  #clientOf(access: Access): Promise<Octokit> {
    // Keyed by the token itself: a client of one user's token must never be used for another's.
    const key = access.kind === 'token' ? `${access.id} ${hashToken(access.token.reveal())}` : access.id
    const known = this.#clients.get(key)
    if (known) return known
    const creating = this.#createClient(access)
    creating.catch(() => this.#clients.delete(key))
    this.#clients.set(key, creating)
    for (const oldest of this.#clients.keys()) {
      if (this.#clients.size <= maxClients) break
      this.#clients.delete(oldest)
    }
    return creating
  }

  async #createClient(access: Access): Promise<Octokit> {
    const { Octokit, app, throttle } = await this.#load()
    if (access.kind === 'token') return new Octokit({ auth: access.token.reveal(), throttle: { ...throttle, id: access.id } })
    if (!app) throw new GitHostError('unauthorized', `This instance has no app at ${this.title}`)
    return (await app.getInstallationOctokit(access.installationId)) as Octokit
  }

  #load() {
    this.#parts ??= this.#loadOctokit()
    return this.#parts
  }

  async #loadOctokit() {
    const { App, Octokit: BaseOctokit } = await import('octokit')
    const { appId, privateKey, apiUrl } = this.settings
    const throttle = { ...limitHandlers, ...(new URL(apiUrl).host === 'api.github.com' ? {} : await throttlesWithoutPauses()) }
    const ConfiguredOctokit = BaseOctokit.defaults({
      baseUrl: apiUrl,
      userAgent: 'berth',
      request: { fetch: this.fetch },
      log: silent,
      retry: { retries: 1 },
      throttle,
    })
    const app =
      appId && privateKey ? new App({ appId, privateKey: privateKey.reveal(), Octokit: ConfiguredOctokit, log: silent }) : null
    return { Octokit: ConfiguredOctokit as typeof Octokit, app: app as OctokitApp | null, throttle }
  }
}

const ignore = () => undefined
/** Octokit's own log lines contain URLs; the error has the relevant part. */
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore }
const retriesOnce = (seconds: number, _options: unknown, _octokit: unknown, retryCount: number) =>
  seconds <= maxWaitSeconds && retryCount === 0
const limitHandlers = { onRateLimit: retriesOnce, onSecondaryRateLimit: retriesOnce }

/** GitHub.com requires a second between two writes, and three where users are notified; an Enterprise Server does not. */
async function throttlesWithoutPauses() {
  const { default: Bottleneck } = await import('bottleneck')
  const oneByOne = (id: string) => new Bottleneck.Group({ id, maxConcurrent: 1, timeout: 120_000 })
  return { write: oneByOne('write'), notifications: oneByOne('notifications') }
}
