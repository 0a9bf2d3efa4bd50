import type { RepositoryName } from './repository-name.ts'

/** Header names in lower case, as Node provides them. */
export type DeliveryHeaders = Readonly<Record<string, string | string[] | undefined>>

interface DeliverySource {
  /** The host's own id of the delivery; null where it gave none. */
  id: string | null
  /** Null for deliveries that concern no repository. */
  repository: RepositoryName | null
}

export interface PushDelivery extends DeliverySource {
  kind: 'push'
  repository: RepositoryName
  /** Branch name, without `refs/heads/`. */
  branch: string
  /** The repository's default branch; null where the host does not name it. */
  defaultBranch?: string | null
  commit: string
  message: string
  author: string | null
}

export interface PullRequestDelivery extends DeliverySource {
  kind: 'pull_request'
  repository: RepositoryName
  action: 'opened' | 'updated' | 'closed'
  number: number
  title: string
  htmlUrl: string | null
  author: string | null
  /** Time of the last change, by the host's clock; null where the host does not name it. */
  changedAt: number | null
  /** The source branch, and its newest commit. */
  branch: string
  commit: string
  targetBranch: string
  /** The source is another repository than the target: its author is untrusted. */
  fromFork: boolean
  /** The repository of its commits; null once that repository is deleted. */
  sourceRepository: RepositoryName | null
}

export interface InstallationDelivery extends DeliverySource {
  kind: 'installation_deleted' | 'installation_suspended' | 'installation_resumed'
  installationId: number
  account: string | null
}

/** An event of a git host. `ignored`: tags, deleted branches and all other events that are not handled, with the reason. */
export type Delivery =
  | PushDelivery
  | PullRequestDelivery
  | InstallationDelivery
  | (DeliverySource & { kind: 'ping' })
  | (DeliverySource & { kind: 'ignored'; reason: string })

export const headerOf = (headers: DeliveryHeaders, name: string): string | null => {
  const value = headers[name]
  return typeof value === 'string' && value !== '' ? value : null
}
