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
import type { Bound } from '../../platform/transaction.ts'

export interface GitHostDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  /** Learns every token before it is used. */
  scrubber: Pick<Scrubber, 'register'>
  /** Where browsers and git hosts reach this instance, without a slash at the end. */
  publicUrl: () => string
  mode: 'self-hosted' | 'cloud'
  hosts: Readonly<Record<GitHostProvider, GitHost>>
  /** Null on the cloud service, whose machine is nobody's own. */
  localLogin: LocalLogin | null
  /** What deliveries of the instance's own app are signed with. */
  webhookSecrets: Readonly<Partial<Record<GitHostProvider, Secret>>>
  people: People
  /** Where a host is to deliver what happens to a repository, where that is not the instance's own address. */
  hookAddress?(organizationId: string, repository: RepositoryName & { provider: string }): Promise<string | null>
  /** Called within the transaction that stores a connection: projects of the organisation may want their hooks. */
  onConnected?(organizationId: string, provider: GitHostProvider, bound: Bound): Promise<void>
  /** Filled in by the module of the cloud, once an instance can be linked to one. */
  cloudLinks?: CloudLinks | undefined
}

/** What the access module knows. */
export interface People {
  roleOf(userId: string, organizationId: string): Promise<Role | undefined>
  /** Whether the credential still has the tag. */
  holdsNow(tag: Permission, credential: Pick<Caller, 'userId' | 'organizationId' | 'tokenId'>): Promise<boolean>
  isOperator(caller: Caller): Awaitable<boolean>
  isOperatorsOrganization(organizationId: string): Promise<boolean>
  /** `owner/*` and `owner/repo`; null: every one. */
  memberRepositories(organizationId: string): Promise<string[] | null>
  nameOf(organizationId: string): Promise<string | undefined>
}

/** A cloud that this instance is linked to signs in at the git host for it. Each rejects while the cloud cannot be reached. */
export interface CloudLinks {
  isLinked(organizationId: string): Promise<boolean>
  /** The page that a browser is sent to, as the cloud names it. Fails with `cloud_unreachable` or `no_source`. */
  connectUrl(wanted: { organizationId: string; provider: GitHostProvider; source: 'app' | 'oauth' }): Promise<string>
  installUrl(organizationId: string): Promise<string | null>
  /** Names the link as it is now: linked anew, or elsewhere, it has another. Null: there is none. */
  linkOf(organizationId: string): Promise<string | null>
  /** The page of the git host at which a person gives their login to this instance. Null: the cloud cannot do that. */
  startHandoff(wanted: { organizationId: string } & HandoffBody): Promise<string | null>
  /** What came of it, once. Fails with words where the cloud gives nothing. */
  collectHandoff(organizationId: string, collection: HandoffCollection): Promise<HandedTokens>
  /** Only the cloud can renew what was given to its client. */
  refreshHandoff(organizationId: string, refresh: HandoffRefresh): Promise<HandedTokens>
}

export const nowOf = ({ clock }: Pick<GitHostDeps, 'clock'>): number => clock.now().getTime()
