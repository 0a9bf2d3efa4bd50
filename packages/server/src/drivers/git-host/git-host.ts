import type { GitHostProvider } from '@berth/contract'
import type { Secret } from '../../platform/secrets/secret.ts'
import type { Delivery, DeliveryHeaders } from './delivery.ts'
import type { RepositoryName } from './repository-name.ts'

/** By what a call is made. `id` names it for caches and throttles and says nothing of the secret. */
export type Access =
  | { kind: 'token'; id: string; token: Secret }
  /** Of an installed app: its own tokens are made when they are needed. */
  | { kind: 'installation'; id: string; installationId: number }

export interface HostAccount {
  id: string
  login: string
  type: 'user' | 'organization'
  avatarUrl: string | null
}

export interface HostRepository {
  id: string
  name: string
  fullName: string
  owner: string
  private: boolean
  description: string | null
  defaultBranch: string | null
  language: string | null
  htmlUrl: string
  /** Always at the host's own address; what the host says of another is not believed. */
  cloneUrl: string
  sshUrl: string | null
  /** ISO 8601. */
  updatedAt: string | null
}

export interface HostBranch {
  name: string
  commit: string
  protected: boolean
}

export interface HostFileEntry {
  name: string
  path: string
  type: 'file' | 'dir' | 'symlink' | 'submodule'
  sizeBytes: number | null
}

export interface HostFile {
  path: string
  branch: string
  sizeBytes: number
  text: string
}

export interface HostHook {
  id: number
  url: string
  events: string[]
  active: boolean
  createdAt: string | null
  updatedAt: string | null
}

export interface HookSettings {
  url: string
  secret: Secret
}

export interface NewRepository {
  name: string
  private: boolean
  /** Null: the account that the access belongs to. */
  owner: string | null
}

export interface RepositoryToken {
  username: string
  token: Secret
  expiresAt: Date | null
}

export interface CommitStatus {
  state: 'pending' | 'success' | 'failure' | 'error'
  /** At most 140 characters are kept. */
  description: string
  /** Tells the statuses of one commit apart: `berth/shop (production)`. */
  context: string
  targetUrl: string | null
}

export interface CallLimits {
  /** For the whole call, all pages of it. */
  timeoutMs?: number
  abort?: AbortSignal
}

/**
 * One git host. Every method rejects with a `GitHostError` that says which of the few ways it went wrong, within its time limit.
 * A token goes to the host's own API address alone, whatever a redirect, a `Link` header or an answer says.
 */
export interface GitHost {
  readonly provider: GitHostProvider
  /** Where people see the host, and where git clones from. */
  readonly webUrl: string

  /** Whose access it is. */
  account(access: Access, limits?: CallLimits): Promise<HostAccount>
  /** Every one that the access reaches, all pages; from cache where the host says that nothing has changed. */
  repositories(access: Access, limits?: CallLimits): Promise<HostRepository[]>
  /** Of one organisation or account; `not_found` where there is none such. */
  repositoriesOf(access: Access, owner: string, limits?: CallLimits): Promise<HostRepository[]>
  repository(access: Access, name: RepositoryName, limits?: CallLimits): Promise<HostRepository>
  /** `conflict` when the name is taken. */
  createRepository(access: Access, repository: NewRepository, limits?: CallLimits): Promise<HostRepository>
  deleteRepository(access: Access, name: RepositoryName, limits?: CallLimits): Promise<void>
  branches(access: Access, name: RepositoryName, limits?: CallLimits): Promise<HostBranch[]>
  /** Without a branch: of the default one. `not_found` where there is no such folder. */
  files(
    access: Access,
    name: RepositoryName,
    at: { path: string; branch?: string },
    limits?: CallLimits,
  ): Promise<HostFileEntry[]>
  file(access: Access, name: RepositoryName, at: { path: string; branch?: string }, limits?: CallLimits): Promise<HostFile>

  hooks(access: Access, name: RepositoryName, limits?: CallLimits): Promise<HostHook[]>
  /** For pushes and pull requests. */
  createHook(access: Access, name: RepositoryName, hook: HookSettings, limits?: CallLimits): Promise<HostHook>
  /** Gives a hook that is there this address and secret, and turns it on. */
  changeHook(access: Access, name: RepositoryName, id: number, hook: HookSettings, limits?: CallLimits): Promise<HostHook>
  deleteHook(access: Access, name: RepositoryName, id: number, limits?: CallLimits): Promise<void>

  /**
   * What git needs to read the repository. Of an installation: new, good for an hour at most, for this repository alone and for
   * reading; of a token: that token, since no host narrows it.
   */
  repositoryToken(access: Access, name: RepositoryName, limits?: CallLimits): Promise<RepositoryToken>

  setCommitStatus(access: Access, name: RepositoryName, commit: string, status: CommitStatus, limits?: CallLimits): Promise<void>
  /** One comment a `marker` and pull request: written anew where it is there already. */
  comment(
    access: Access,
    name: RepositoryName,
    pullRequest: number,
    comment: { marker: string; text: string },
    limits?: CallLimits,
  ): Promise<void>

  /** Whether the delivery was signed with the secret, over its bytes; takes the same time wherever they differ. */
  isSignedWith(secret: Secret, headers: DeliveryHeaders, rawBody: Buffer): boolean
  /** What a delivery says, in the words of no host; null where its JSON is none or not of the host's form. */
  readDelivery(headers: DeliveryHeaders, rawBody: Buffer): Delivery | null

  readonly signIn: SignIn
  /** Where the host has apps and this instance has one. */
  readonly app: HostApp | null
}

export interface AccountTokens {
  accessToken: Secret
  refreshToken: Secret | null
  /** From now on; null: it does not expire. */
  lifetimeSeconds: number | null
}

export interface DeviceLogin {
  deviceCode: Secret
  userCode: string
  verificationUri: string
  intervalSeconds: number
  expiresAt: Date
}

export type DevicePoll =
  | { status: 'pending'; intervalSeconds: number | null }
  | { status: 'denied' | 'expired' }
  | { status: 'error'; message: string }
  | { status: 'connected'; tokens: AccountTokens }

/** How a person lets this instance use their account. What is not set up is null. */
export interface SignIn {
  /** The address of the host's page, and what to do with the code that comes back. */
  readonly code: {
    url(state: string, redirectUri: string): string
    exchange(code: string, redirectUri: string, limits?: CallLimits): Promise<AccountTokens>
  } | null
  readonly device: {
    start(limits?: CallLimits): Promise<DeviceLogin>
    poll(deviceCode: Secret, limits?: CallLimits): Promise<DevicePoll>
  } | null
  /** A refresh token is good once. */
  refresh(refreshToken: Secret, limits?: CallLimits): Promise<AccountTokens>
}

export interface Installation {
  id: number
  account: HostAccount
  suspended: boolean
}

export interface HostApp {
  /** The page where the app is installed. */
  installUrl(limits?: CallLimits): Promise<string>
  /** By the app itself: who holds its key may see every installation. */
  installation(id: number, limits?: CallLimits): Promise<Installation>
  /** Rejects unless the host knows the app itself: an address that knows nothing at all says nothing of an installation. */
  hasInstallation(id: number, limits?: CallLimits): Promise<boolean>
  /** Whether the person whose token it is governs the account that the app is installed on. */
  isGovernedBy(token: Secret, installation: Installation, limits?: CallLimits): Promise<boolean>
}

/** What there is to ask about repositories, for the file of a host that answers it. */
export type RepositoryCalls = Pick<
  GitHost,
  | 'account'
  | 'repositories'
  | 'repositoriesOf'
  | 'repository'
  | 'createRepository'
  | 'deleteRepository'
  | 'branches'
  | 'files'
  | 'file'
>
