import type { GitHostProvider } from '@berth/contract'
import type { GitHost } from '../../../drivers/git-host/git-host.ts'
import type { Database } from '../../../platform/database.ts'
import type { GitApplicationRow } from '../../../platform/db/tables/git-host.ts'
import type { Log } from '../../../platform/log.ts'
import type { Scrubber } from '../../../platform/secrets/scrubber.ts'
import type { Secret } from '../../../platform/secrets/secret.ts'
import type { SecretBox } from '../../../platform/secrets/secret-box.ts'
import { listApplicationRows, openApplication } from './application-store.ts'
import { type HostSettings, hasApplication } from './host-settings.ts'
import { hostTitles } from './host-titles.ts'

/** Drivers of git hosts, and the settings that the environment gives for each. */
export interface GitHostDrivers {
  configured: Readonly<Record<GitHostProvider, HostSettings>>
  create(provider: GitHostProvider, settings: HostSettings): GitHost
}

export type Origin = 'environment' | 'stored' | 'none'

/** A git host with the settings in use. */
export interface LiveHost {
  host: GitHost
  settings: HostSettings
  origin: Origin
  /** The stored row, also while it is not in use. */
  row: GitApplicationRow | null
  /** Why the stored row is not in use; null: it is in use, or there is none. */
  problem: string | null
}

export interface LiveHostsDeps extends GitHostDrivers {
  database: Database
  log: Log
  secretBox: SecretBox
  scrubber: Pick<Scrubber, 'register'>
}

/** Published after every change of a stored application. */
export const applicationsTopic = 'git-host-applications'

export const providers = ['github', 'gitlab', 'gitea'] as const satisfies readonly GitHostProvider[]

/**
 * The git hosts with their current settings. Environment variables take precedence over stored settings. `refresh` reads the stored
 * ones: it is awaited before each use of a host, and follows the signal of a change, so that readers without a database also see it.
 */
export class LiveHosts {
  readonly #deps: LiveHostsDeps
  readonly #live: Record<GitHostProvider, LiveHost>
  #started = 0
  #applied = 0

  constructor(deps: LiveHostsDeps) {
    this.#deps = deps
    const initial = (provider: GitHostProvider) => this.#liveHost(provider, null)
    this.#live = { github: initial('github'), gitlab: initial('gitlab'), gitea: initial('gitea') }
    deps.database.signals.subscribe(applicationsTopic, () => {
      this.refresh().catch((err: unknown) => deps.log.warn({ err }, 'git-host: reading applications failed, will retry'))
    })
  }

  of(provider: GitHostProvider): LiveHost {
    return this.#live[provider]
  }

  /** The settings that the environment gives. */
  configured(provider: GitHostProvider): HostSettings {
    return this.#deps.configured[provider]
  }

  /** The drivers by provider; each access returns the current one. */
  readonly hosts: Readonly<Record<GitHostProvider, GitHost>> = this.#each(({ host }) => host)
  /** Webhook secrets of the instance's own apps. */
  readonly webhookSecrets: Readonly<Record<GitHostProvider, Secret | null>> = this.#each(({ settings }) => settings.webhookSecret)
  /** Web addresses of the hosts. */
  readonly urls: Readonly<Record<GitHostProvider, string>> = this.#each(({ settings }) => settings.webUrl)

  #each<Value>(read: (live: LiveHost) => Value): Readonly<Record<GitHostProvider, Value>> {
    const of = (provider: GitHostProvider) => read(this.#live[provider])
    return {
      get github() {
        return of('github')
      },
      get gitlab() {
        return of('gitlab')
      },
      get gitea() {
        return of('gitea')
      },
    }
  }

  async refresh(): Promise<void> {
    this.#started += 1
    const order = this.#started
    const rows = await listApplicationRows(this.#deps.database.db)
    // Another read that started later may already have finished.
    if (order < this.#applied) return
    this.#applied = order
    for (const provider of providers) {
      const row = rows.find((candidate) => candidate.provider === provider) ?? null
      if (row?.version !== this.#live[provider].row?.version || row?.secrets !== this.#live[provider].row?.secrets)
        this.#live[provider] = this.#liveHost(provider, row)
    }
  }

  #liveHost(provider: GitHostProvider, row: GitApplicationRow | null): LiveHost {
    const { configured, create } = this.#deps
    const fromEnvironment = configured[provider]
    const isConfigured = hasApplication(fromEnvironment)
    const hostFromEnvironment = (problem: string | null): LiveHost => ({
      host: create(provider, fromEnvironment),
      settings: fromEnvironment,
      origin: isConfigured ? 'environment' : 'none',
      row,
      problem,
    })
    if (!row) return hostFromEnvironment(null)
    if (isConfigured)
      return hostFromEnvironment(`The stored application is not used: BERTH_${provider.toUpperCase()}_* variables are set.`)
    if (provider === 'github' && row.url !== fromEnvironment.webUrl)
      return hostFromEnvironment(`The stored app belongs to ${row.url}, but BERTH_GITHUB_WEB_URL is ${fromEnvironment.webUrl}.`)
    try {
      const settings = openApplication(row, this.#deps.secretBox)
      this.#deps.scrubber.register(settings.clientSecret, settings.privateKey, settings.webhookSecret)
      return { host: create(provider, settings), settings, origin: 'stored', row, problem: null }
    } catch (err) {
      this.#deps.log.error({ err, provider }, 'git-host: stored application cannot be read')
      return hostFromEnvironment(
        `The stored application at ${hostTitles[provider]} cannot be decrypted. Replace it or remove it.`,
      )
    }
  }
}
