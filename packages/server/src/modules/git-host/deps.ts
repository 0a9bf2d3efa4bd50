import type {
  GitHostProvider,
  HandedTokens,
  HandoffBody,
  HandoffCollection,
  HandoffRefresh,
  Permission,
  Role,
} from '@berth/contract'
import type { LocalLogin } from '../../drivers/git-host/gh-login.ts'
import type { GitHost } from '../../drivers/git-host/git-host.ts'
import type { RepositoryName } from '../../drivers/git-host/repository-name.ts'
import type { Caller } from '../../http/handler.ts'
import type { Awaitable } from '../../platform/awaitable.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Log } from '../../platform/log.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { Secret } from '../../platform/secrets/secret.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import type { GitHostDrivers, LiveHosts } from './hosts/live-hosts.ts'

export interface GitHostDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  /** Registers every token before it is used. */
  scrubber: Pick<Scrubber, 'register'>
  /** Public URL of this instance, for browsers and git hosts, without a trailing slash. */
  publicUrl: () => string
  mode: 'self-hosted' | 'cloud'
  /** Drivers and settings of the hosts. They change at run time: read them when they are needed. */
  live: LiveHosts
  hosts: Readonly<Record<GitHostProvider, GitHost>>
  /** The machine's `gh` login; null on the cloud service. */
  localLogin: LocalLogin | null
  /** Webhook secrets of the instance's own apps. */
  webhookSecrets: Readonly<Record<GitHostProvider, Secret | null>>
  people: People
  /** Base URL for webhook deliveries of a repository, if not the instance's own. */
  hookAddress?(organizationId: string, repository: RepositoryName & { provider: string }): Promise<string | null>
  /** Called within the transaction that stores a connection: projects of the organisation may need their webhooks. */
  onConnected?(organizationId: string, provider: GitHostProvider, transaction: TransactionContext): Promise<void>
  /** Called within the transaction that gives a host another address: projects of that host keep their current remote. */
  onHostMoved?(
    moved: { provider: GitHostProvider; oldUrl: string; newUrl: string },
    transaction: TransactionContext,
  ): Promise<void>
  /** Set by the cloud module where the instance can be linked to a cloud. */
  cloudLinks?: CloudLinks | undefined
}

/** Dependencies from which the module makes its own: the drivers become live hosts. */
export type GitHostInputs = Omit<GitHostDeps, 'live' | 'hosts' | 'webhookSecrets'> & GitHostDrivers

/** Queries to the access module. */
export interface People {
  roleOf(userId: string, organizationId: string): Promise<Role | undefined>
  /** Whether the credential still has the permission. */
  holdsNow(tag: Permission, credential: Pick<Caller, 'userId' | 'organizationId' | 'tokenId'>): Promise<boolean>
  isOperator(caller: Caller): Awaitable<boolean>
  isOperatorsOrganization(organizationId: string): Promise<boolean>
  /** Patterns (`owner/*`, `owner/repo`); null: all. */
  memberRepositories(organizationId: string): Promise<string[] | null>
  nameOf(organizationId: string): Promise<string | undefined>
}

/** A linked cloud that signs in at the git host on behalf of this instance. Each call rejects while the cloud is unreachable. */
export interface CloudLinks {
  isLinked(organizationId: string): Promise<boolean>
  /** The URL of the cloud's connect page. Fails with `cloud_unreachable` or `no_source`. */
  connectUrl(wanted: { organizationId: string; provider: GitHostProvider; source: 'app' | 'oauth' }): Promise<string>
  installUrl(organizationId: string): Promise<string | null>
  /** Identifies the current link; it changes when the organisation is linked again. Null: not linked. */
  linkOf(organizationId: string): Promise<string | null>
  /** The git host page where a user gives their login to this instance. Null: the cloud does not support that. */
  startHandoff(wanted: { organizationId: string } & HandoffBody): Promise<string | null>
  /** Collects the login, once. Fails with a message when the cloud has none. */
  collectHandoff(organizationId: string, collection: HandoffCollection): Promise<HandedTokens>
  /** Refreshes a login; only the cloud can, because it was issued to its client. */
  refreshHandoff(organizationId: string, refresh: HandoffRefresh): Promise<HandedTokens>
}

export const nowOf = ({ clock }: Pick<GitHostDeps, 'clock'>): number => clock.now().getTime()
