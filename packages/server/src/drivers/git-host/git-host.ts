import type { GitHostProvider } from '@berth/contract'
import type { Secret } from '../../platform/secrets/secret.ts'
import type { Delivery, DeliveryHeaders, PullRequestDelivery } from './delivery.ts'
import type { RepositoryName } from './repository-name.ts'

/** Credential of a call. `id` identifies it in caches and throttles, and discloses nothing of the secret. */
export type Access =
  | { kind: 'token'; id: string; token: Secret }
  /** Installation of an app: its tokens are created on demand. */
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
  /** Always at the host's own address; another address in the host's response is ignored. */
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
  /** The host's report of a failed last delivery; null: none is reported. */
  failure: string | null
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
  /** Null: the account of the access. */
  owner: string | null
}

export interface RepositoryToken {
  username: string
  token: Secret
  expiresAt: Date | null
}

export interface CommitStatus {
  state: 'pending' | 'success' | 'failure' | 'error'
  /** Truncated to 140 characters. */
  description: string
  /** Distinguishes the statuses of one commit: `berth/shop (production)`. */
  context: string
  targetUrl: string | null
}

export interface CallLimits {
  /** Limit for the whole call, including all pages. */
  timeoutMs?: number
  abort?: AbortSignal
}

/**
 * A git host. Every method rejects with a `GitHostError` that names the kind of failure, within its time limit. A token is sent
 * only to the host's own API address, also after a redirect, a `Link` header or a URL in a response.
 */
export interface GitHost {
  readonly provider: GitHostProvider
  /** URL of the host's web interface, from which git also clones. */
  readonly webUrl: string

  /** The account of the access. */
  account(access: Access, limits?: CallLimits): Promise<HostAccount>
  /** All repositories that the access can read, all pages; from cache where the host reports no change. */
  repositories(access: Access, limits?: CallLimits): Promise<HostRepository[]>
  /** Repositories of one organisation or account; `not_found` where it does not exist. */
  repositoriesOf(access: Access, owner: string, limits?: CallLimits): Promise<HostRepository[]>
  repository(access: Access, name: RepositoryName, limits?: CallLimits): Promise<HostRepository>
  /** Rejects with `conflict` when the name is taken. */
  createRepository(access: Access, repository: NewRepository, limits?: CallLimits): Promise<HostRepository>
  deleteRepository(access: Access, name: RepositoryName, limits?: CallLimits): Promise<void>
  branches(access: Access, name: RepositoryName, limits?: CallLimits): Promise<HostBranch[]>
  /** Lists a folder; without a branch: of the default branch. Rejects with `not_found` where the folder does not exist. */
  files(
    access: Access,
    name: RepositoryName,
    at: { path: string; branch?: string },
    limits?: CallLimits,
  ): Promise<HostFileEntry[]>
  file(access: Access, name: RepositoryName, at: { path: string; branch?: string }, limits?: CallLimits): Promise<HostFile>

  hooks(access: Access, name: RepositoryName, limits?: CallLimits): Promise<HostHook[]>
  /** Creates a webhook for pushes and pull requests. */
  createHook(access: Access, name: RepositoryName, hook: HookSettings, limits?: CallLimits): Promise<HostHook>
  /** Sets the address and secret of an existing webhook, and enables it. */
  changeHook(access: Access, name: RepositoryName, id: number, hook: HookSettings, limits?: CallLimits): Promise<HostHook>
  deleteHook(access: Access, name: RepositoryName, id: number, limits?: CallLimits): Promise<void>

  /**
   * Credential with which git reads the repository. For an installation: a new read-only token for this repository alone, valid
   * for at most an hour; for a token: that token, since no host can restrict it.
   */
  repositoryToken(access: Access, name: RepositoryName, limits?: CallLimits): Promise<RepositoryToken>

  /** Open pull requests in the form of deliveries, newest first; at most a hundred. */
  pullRequests(access: Access, name: RepositoryName, limits?: CallLimits): Promise<PullRequestDelivery[]>
  setCommitStatus(access: Access, name: RepositoryName, commit: string, status: CommitStatus, limits?: CallLimits): Promise<void>
  /** Creates one comment per `marker` and pull request, or updates it. */
  comment(
    access: Access,
    name: RepositoryName,
    pullRequest: number,
    comment: { marker: string; text: string },
    limits?: CallLimits,
  ): Promise<void>

  /** Whether the delivery was signed with the secret, over its raw bytes; compared in constant time. */
  isSignedWith(secret: Secret, headers: DeliveryHeaders, rawBody: Buffer): boolean
  /** Parses a delivery into the common form; null where the body is not JSON or not of the host's form. */
  readDelivery(headers: DeliveryHeaders, rawBody: Buffer): Delivery | null

  readonly signIn: SignIn
  /** Null where the host has no apps or this instance has none. */
  readonly app: HostApp | null
  /** Null where the host cannot create apps from a manifest. */
  readonly manifests: AppManifests | null
}

export interface AccountTokens {
  accessToken: Secret
  refreshToken: Secret | null
  /** Lifetime from now on; null: the token does not expire. */
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

/** Ways in which a user grants this instance access to an account. A way that is not configured is null. */
export interface SignIn {
  /** URL of the host's authorization page, and the exchange of the returned code. */
  readonly code: {
    url(state: string, redirectUri: string): string
    exchange(code: string, redirectUri: string, limits?: CallLimits): Promise<AccountTokens>
  } | null
  readonly device: {
    start(limits?: CallLimits): Promise<DeviceLogin>
    poll(deviceCode: Secret, limits?: CallLimits): Promise<DevicePoll>
  } | null
  /** A refresh token can be used once. */
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
  /** Requested as the app itself: the holder of its key can see every installation. */
  installation(id: number, limits?: CallLimits): Promise<Installation>
  /** Rejects unless the host confirms the app itself: a 404 of a wrong API address must not count as a missing installation. */
  hasInstallation(id: number, limits?: CallLimits): Promise<boolean>
  /** Whether the token's user administers the account that the app is installed on. */
  isAdministeredBy(token: Secret, installation: Installation, limits?: CallLimits): Promise<boolean>
}

/** An app that the host has created from a manifest, with its secrets, which the host shows once. */
export interface CreatedApp {
  id: number
  slug: string
  clientId: string
  clientSecret: Secret
  privateKey: Secret
  /** Null: the app was created without a webhook. */
  webhookSecret: Secret | null
}

export interface AppManifests {
  /** The page that the browser sends the manifest to; without an organisation the user owns the app. */
  registrationUrl(organization: string | null, state: string): string
  /** Exchanges the code of the redirect; the host accepts a code once. */
  convert(code: string, limits?: CallLimits): Promise<CreatedApp>
}

/** The repository calls, for the file of a host that implements them. */
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
