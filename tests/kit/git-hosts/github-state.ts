import type { GitServer } from '../git-server.ts'
import type { DeviceLogins } from './device-logins.ts'

/** State of the GitHub host for tests. */

export interface Hook {
  id: number
  repository: string
  url: string
  secret: string
  events: string[]
}

/** The webhook of an app: it reports every repository of the account that the app is installed on. */
export interface AppHook {
  url: string
  secret: string
  events: string[]
}

export interface CommitStatus {
  repository: string
  sha: string
  state: string
  context: string
  description: string
  targetUrl: string | null
}

export interface EmulatedRepository {
  id: number
  full_name: string
  owner: { login: string }
  default_branch: string
  private: boolean
}

export interface GitHubState {
  /** Repositories by `owner/name`. */
  readonly repositories: Map<string, EmulatedRepository>
  readonly url: string
  readonly git: GitServer
  readonly devices: DeviceLogins
  readonly statuses: CommitStatus[]
  readonly hooks: Hook[]
}
