import { type Static, Type } from 'typebox'
import { Branch, GitName, GitOwner } from '../git-shapes.ts'
import { nullable, oneOf, secret, Time, text } from '../shape.ts'

/** The git hosts that an organisation can be connected to. */
export const GitHostProvider = oneOf('github', 'gitlab', 'gitea')
export type GitHostProvider = Static<typeof GitHostProvider>

/** Selects a git host if an organisation is connected to several; default: the one that was connected first. */
const provider = { provider: Type.Optional(GitHostProvider) }
export const ProviderQuery = Type.Object(provider)
export type ProviderQuery = Static<typeof ProviderQuery>

export const GitHostState = oneOf('connected', 'disconnected', 'error')
export type GitHostState = Static<typeof GitHostState>
export const GitHostSource = oneOf('app', 'oauth', 'cli')
export type GitHostSource = Static<typeof GitHostSource>

export const GitHostSources = Type.Object({ app: Type.Boolean(), oauth: Type.Boolean(), cli: Type.Boolean() })
export type GitHostSources = Static<typeof GitHostSources>

export const GitAccount = Type.Object({
  login: Type.String(),
  id: Type.String(),
  type: oneOf('user', 'organization'),
  avatarUrl: nullable(Type.String()),
  source: GitHostSource,
})
export type GitAccount = Static<typeof GitAccount>

export const GitBranch = Type.Object({ name: Type.String(), commit: Type.String(), protected: Type.Boolean() })
export type GitBranch = Static<typeof GitBranch>

export const Repository = Type.Object({
  id: Type.String(),
  name: Type.String(),
  fullName: Type.String(),
  owner: Type.String(),
  private: Type.Boolean(),
  description: nullable(Type.String()),
  defaultBranch: nullable(Type.String()),
  language: nullable(Type.String()),
  htmlUrl: Type.String(),
  cloneUrl: Type.String(),
  sshUrl: nullable(Type.String()),
  updatedAt: nullable(Time),
  source: GitHostSource,
  branches: Type.Optional(Type.Array(GitBranch)),
})
export type Repository = Static<typeof Repository>

export const GitHostStatus = Type.Object({
  state: GitHostState,
  sources: GitHostSources,
  accounts: Type.Array(GitAccount),
  installUrl: nullable(Type.String()),
  cloudUnreachable: Type.Boolean(),
})
export type GitHostStatus = Static<typeof GitHostStatus>

export const GitHostHome = Type.Object({
  state: GitHostState,
  accounts: Type.Array(GitAccount),
  repos: Type.Array(Repository),
})
export type GitHostHome = Static<typeof GitHostHome>

export const LocalLogin = Type.Object({
  available: Type.Boolean(),
  login: nullable(Type.String()),
  host: nullable(Type.String()),
  reason: nullable(Type.String()),
})
export type LocalLogin = Static<typeof LocalLogin>

export const ConnectPoll = Type.Object({
  connected: Type.Boolean(),
  status: oneOf('none', 'pending', 'connected', 'denied', 'expired', 'error'),
  intervalSeconds: nullable(Type.Integer()),
  expiresAt: nullable(Time),
  message: nullable(Type.String()),
})
export type ConnectPoll = Static<typeof ConnectPoll>

export const ConnectBody = Type.Object({ source: Type.Optional(oneOf('oauth', 'cli')) })
export type ConnectBody = Static<typeof ConnectBody>

/** A single flat schema on the wire, so that it serialises without trying variants; the type distinguishes them by `flow`. */
export const ConnectReply = Type.Unsafe<ConnectReply>(
  Type.Object({
    connected: Type.Boolean(),
    flow: Type.Optional(oneOf('redirect', 'device_code', 'terminal')),
    url: Type.Optional(Type.String()),
    userCode: Type.Optional(Type.String()),
    verificationUri: Type.Optional(Type.String()),
    intervalSeconds: Type.Optional(Type.Integer()),
    expiresAt: Type.Optional(Time),
    command: Type.Optional(Type.String()),
    message: Type.Optional(Type.String()),
  }),
)
export type ConnectReply =
  | { connected: true }
  | { connected: false; flow: 'redirect'; url: string }
  | {
      connected: false
      flow: 'device_code'
      userCode: string
      verificationUri: string
      intervalSeconds: number
      expiresAt: string
    }
  | { connected: false; flow: 'terminal'; command: string; message: string }

/** Parameters that the git host adds to the callback URL; the module checks which combinations are valid. */
export const RedirectQuery = Type.Object({
  code: Type.Optional(text(2000)),
  state: Type.Optional(text(2000)),
  installation_id: Type.Optional(text(100)),
  setup_action: Type.Optional(text(100)),
  error: Type.Optional(text(500)),
  error_description: Type.Optional(text(2000)),
})
export type RedirectQuery = Static<typeof RedirectQuery>

/** Why the browser returned from the git host without a connection: `error` in the address of the dashboard's git page. */
export const connectErrors = [
  'expired',
  'denied',
  'other_user',
  'forbidden',
  'incomplete',
  'waiting_for_owner',
  'not_owner',
  'rejected',
  'unreachable',
  'limited',
] as const
export type ConnectError = (typeof connectErrors)[number]

/** A linked instance that asks this cloud to connect a git host, and the URL to which the user's browser returns afterwards. */
export const HandoffBody = Type.Object({
  provider: GitHostProvider,
  returnTo: Type.String({ minLength: 1, maxLength: 200, pattern: '^https?://[A-Za-z0-9.:[\\]-]+$' }),
  state: Type.String({ minLength: 1, maxLength: 600, pattern: '^[A-Za-z0-9._-]+$' }),
  /** SHA-256, in base64url, of the verifier that is needed to collect the result. */
  challenge: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
})
export type HandoffBody = Static<typeof HandoffBody>
export const Handoff = Type.Object({ url: Type.String() })

const verifier = secret(Type.String({ minLength: 32, maxLength: 200 }))
export const HandoffCollection = Type.Object({ code: secret(Type.String({ minLength: 1, maxLength: 2000 })), verifier })
export type HandoffCollection = Static<typeof HandoffCollection>
export const HandoffRefresh = Type.Object({
  provider: GitHostProvider,
  refreshToken: secret(Type.String({ minLength: 1, maxLength: 4000, pattern: '^[\\x21-\\x7e]+$' })),
})
export type HandoffRefresh = Static<typeof HandoffRefresh>
export const HandedTokens = Type.Object({
  accessToken: Type.String(),
  refreshToken: nullable(Type.String()),
  lifetimeSeconds: nullable(Type.Integer()),
})
export type HandedTokens = Static<typeof HandedTokens>

export const DisconnectSource = oneOf('oauth', 'cli', 'all')
export type DisconnectSource = Static<typeof DisconnectSource>
export const DisconnectBody = Type.Object({ source: Type.Optional(DisconnectSource) })
export type DisconnectBody = Static<typeof DisconnectBody>
export const DisconnectQuery = Type.Object({ ...DisconnectBody.properties, ...provider })
export type DisconnectQuery = Static<typeof DisconnectQuery>

export const Disconnected = Type.Object({ source: DisconnectSource, state: GitHostState, sources: GitHostSources })
export type Disconnected = Static<typeof Disconnected>

export const RepositoryBody = Type.Object({
  name: GitName,
  private: Type.Optional(Type.Boolean({ default: true })),
  owner: Type.Optional(GitOwner),
})
export type RepositoryBody = Static<typeof RepositoryBody>

export const CloneToken = Type.Object({ token: Type.String(), cloneUrl: Type.String(), command: Type.String() })
export type CloneToken = Static<typeof CloneToken>

/** A path inside a repository: without `..`, without a leading hyphen, and without invisible characters. */
const RepositoryPath = Type.String({
  maxLength: 1000,
  pattern: '^(?!-)(?![^]*(?:^|[/\\\\])\\.\\.(?:[/\\\\]|$))[^\\u0000-\\u001f\\u007f-\\u009f\\p{Cf}]*$',
})

export const RepositoryQuery = Type.Object({ branches: Type.Optional(Type.Boolean()), ...provider })
export type RepositoryQuery = Static<typeof RepositoryQuery>
export const RepositoriesQuery = Type.Object({ owner: Type.Optional(GitOwner), ...provider })
export type RepositoriesQuery = Static<typeof RepositoriesQuery>

export const FilesQuery = Type.Object({ path: Type.Optional(RepositoryPath), branch: Type.Optional(Branch), ...provider })
export type FilesQuery = Static<typeof FilesQuery>

export const FileQuery = Type.Object({
  file: Type.Optional(Type.String({ ...RepositoryPath, minLength: 1, default: 'package.json' })),
  branch: Type.Optional(Branch),
  ...provider,
})
export type FileQuery = Static<typeof FileQuery>

export const FileEntry = Type.Object({
  name: Type.String(),
  path: Type.String(),
  type: oneOf('file', 'dir', 'symlink', 'submodule'),
  sizeBytes: nullable(Type.Integer()),
})
export type FileEntry = Static<typeof FileEntry>

/** `content`: the text, or the parsed value of a `.json` file. */
export const RepositoryFile = Type.Object({
  path: Type.String(),
  branch: Type.String(),
  sizeBytes: Type.Integer(),
  content: Type.Unknown(),
})
export type RepositoryFile = Static<typeof RepositoryFile>

export const RepositoryWebhook = Type.Object({
  id: Type.Integer(),
  url: Type.String(),
  events: Type.Array(Type.String()),
  active: Type.Boolean(),
  ours: Type.Boolean(),
  createdAt: nullable(Time),
  updatedAt: nullable(Time),
})
export type RepositoryWebhook = Static<typeof RepositoryWebhook>

export const WebhookDeletion = Type.Object({ hookId: Type.Integer() })
export type WebhookDeletion = Static<typeof WebhookDeletion>
