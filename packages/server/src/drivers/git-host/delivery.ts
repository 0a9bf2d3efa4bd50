import type { RepositoryName } from './repository-name.ts'

/** Header names in lower case, as Node gives them. */
export type DeliveryHeaders = Readonly<Record<string, string | string[] | undefined>>

interface About {
  /** The host's own id of the delivery; null where it gave none. */
  id: string | null
  /** Null for what concerns no repository. */
  repository: RepositoryName | null
}

export interface PushDelivery extends About {
  kind: 'push'
  repository: RepositoryName
  /** Without `refs/heads/`. */
  branch: string
  /** The repository's own branch; null where the host does not say. */
  defaultBranch?: string | null
  commit: string
  message: string
  author: string | null
}

export interface PullRequestDelivery extends About {
  kind: 'pull_request'
  repository: RepositoryName
  action: 'opened' | 'updated' | 'closed'
  number: number
  title: string
  htmlUrl: string | null
  author: string | null
  /** When it was last changed, by the host's clock; null where the host does not say. */
  changedAt: number | null
  /** The branch that it brings in, and its newest commit. */
  branch: string
  commit: string
  targetBranch: string
  /** It comes out of another repository than the one that it asks to join: its author may be anybody. */
  fromFork: boolean
  /** Where its commits are; null once that repository is gone. */
  sourceRepository: RepositoryName | null
}

export interface InstallationDelivery extends About {
  kind: 'installation_deleted' | 'installation_suspended' | 'installation_resumed'
  installationId: number
  account: string | null
}

/** What a git host reports. `ignored`: tags, deleted branches and everything that nobody acts on, with the reason. */
export type Delivery =
  | PushDelivery
  | PullRequestDelivery
  | InstallationDelivery
  | (About & { kind: 'ping' })
  | (About & { kind: 'ignored'; reason: string })

export const headerOf = (headers: DeliveryHeaders, name: string): string | null => {
  const value = headers[name]
  return typeof value === 'string' && value !== '' ? value : null
}
