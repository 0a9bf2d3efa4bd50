import { type Static, Type } from 'typebox'
import { limits } from '../limits.ts'
import { AnyObject, filledText, Hostname, Id, nullable, oneOf, Port, secret, Time, text } from '../shape.ts'
import { projectStatuses } from '../states.ts'

export const GitProvider = oneOf('github', 'gitlab', 'gitea', 'git', 'local', 'upload')
export const ProjectType = oneOf('app', 'static', 'worker', 'services')
export const SleepMode = oneOf('auto_sleep', 'always_on')
export const Slug = Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' })

/** Relative, and `..` is no part of it. */
const relativePath = (maximum: number) =>
  Type.String({ maxLength: maximum, pattern: '^(?!/)(?!(.*/)?\\.\\.(/|$))[^\\u0000-\\u001f\\\\]*$' })
/** A branch as git takes it: never an option, no control characters, none of git's own marks. */
export const Branch = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^(?!-)(?!.*\\.\\.)[^\\u0000-\\u0020~^:?*\\[\\\\\\u007f]+$',
})
export const GitName = Type.String({ minLength: 1, maxLength: 100, pattern: '^(?!-)(?!\\.{1,2}$)[A-Za-z0-9_.-]+$' })
/** An owner may be a GitLab group path. */
export const GitOwner = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^(?!-)(?!\\.{1,2}(/|$))[A-Za-z0-9_.-]+(/(?!\\.{1,2}(/|$))[A-Za-z0-9_.-]+)*$',
})
const command = text(500)

export const HealthCheck = Type.Object({
  path: Type.Optional(Type.String({ maxLength: 500, pattern: '^/' })),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 600 })),
  intervalSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 600 })),
})
export type HealthCheck = Static<typeof HealthCheck>

export const Volume = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-zA-Z0-9][a-zA-Z0-9_.-]*$' }),
  mountPath: Type.String({ minLength: 2, maxLength: 300, pattern: '^/(?!(.*/)?\\.\\.(/|$))[^\\u0000-\\u001f:]*$' }),
})
export type Volume = Static<typeof Volume>

/** One service of a `services` project, in Compose's words. */
export const Service = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-zA-Z0-9][a-zA-Z0-9_.-]*$' }),
  image: Type.Optional(nullable(text(300))),
  build: Type.Optional(
    nullable(
      Type.Object({
        context: relativePath(300),
        dockerfile: Type.Optional(nullable(relativePath(300))),
        target: Type.Optional(nullable(text(100))),
        args: Type.Optional(Type.Record(Type.String(), Type.String())),
      }),
    ),
  ),
  command: Type.Optional(nullable(Type.Array(text(4000), { maxItems: 200 }))),
  entrypoint: Type.Optional(nullable(Type.Array(text(4000), { maxItems: 200 }))),
  environment: Type.Optional(Type.Record(Type.String(), Type.String())),
  ports: Type.Optional(Type.Array(Type.Integer({ minimum: 1, maximum: 65535 }), { maxItems: 50 })),
  exposed: Type.Optional(Type.Boolean()),
  volumes: Type.Optional(
    Type.Array(
      Type.Object({
        type: oneOf('volume', 'bind', 'tmpfs'),
        source: Type.Optional(nullable(text(300))),
        target: text(300, 1),
        readOnly: Type.Optional(Type.Boolean()),
      }),
      { maxItems: 50 },
    ),
  ),
  dependsOn: Type.Optional(Type.Array(text(63), { maxItems: 50 })),
  healthcheck: Type.Optional(nullable(AnyObject)),
  restart: Type.Optional(nullable(text(40))),
  cpuCores: Type.Optional(nullable(Type.Number({ minimum: 0.1, maximum: limits.cpuCoresMaximum }))),
  memoryMb: Type.Optional(nullable(Type.Integer({ minimum: 16, maximum: 65536 }))),
  labels: Type.Optional(Type.Record(Type.String(), Type.String())),
})
export type Service = Static<typeof Service>

/** Every field a user may set with a config route; `null` goes back to the default. */
const configFields = {
  framework: Type.Optional(nullable(text(100))),
  packageManager: Type.Optional(nullable(text(40))),
  installCommand: Type.Optional(nullable(command)),
  buildCommand: Type.Optional(nullable(command)),
  startCommand: Type.Optional(nullable(command)),
  outputDirectory: Type.Optional(nullable(relativePath(200))),
  rootDirectory: Type.Optional(nullable(relativePath(200))),
  dockerfilePath: Type.Optional(nullable(relativePath(300))),
  composePath: Type.Optional(nullable(relativePath(300))),
  buildImage: Type.Optional(nullable(text(200))),
  type: Type.Optional(ProjectType),
  port: Type.Optional(Port),
  healthCheck: Type.Optional(nullable(HealthCheck)),
  volumes: Type.Optional(Type.Array(Volume, { maxItems: 50 })),
  services: Type.Optional(Type.Array(Service, { maxItems: 100 })),
  autoDeploy: Type.Optional(Type.Boolean()),
  previews: Type.Optional(Type.Boolean()),
  rollbackWindow: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
}

const sourceFields = {
  gitProvider: Type.Optional(nullable(GitProvider)),
  gitOwner: Type.Optional(nullable(GitOwner)),
  gitRepo: Type.Optional(nullable(GitName)),
  gitBranch: Type.Optional(nullable(Branch)),
  gitUrl: Type.Optional(nullable(text(2000, 1))),
  localPath: Type.Optional(nullable(text(4000, 1))),
  uploadSessionId: Type.Optional(nullable(Id)),
}

const Name = filledText(100)

export const CreateProject = Type.Object({
  name: Name,
  slug: Type.Optional(Slug),
  ...sourceFields,
  ...configFields,
  serverId: Type.Optional(nullable(Id)),
})
export type CreateProject = Static<typeof CreateProject>
export const UpdateProject = Type.Partial(CreateProject)
export type UpdateProject = Static<typeof UpdateProject>
export const EnsureProject = Type.Object({ ...CreateProject.properties, projectId: Type.Optional(Id) })
export type EnsureProject = Static<typeof EnsureProject>
export const ProjectOptions = Type.Object({ ...configFields, sleepMode: Type.Optional(SleepMode) })
export type ProjectOptions = Static<typeof ProjectOptions>

/** What one side of a project may use; the same bounds for what runs and what builds. */
const Allotment = Type.Object({
  cpuCores: Type.Optional(Type.Number({ minimum: 0.1, maximum: limits.cpuCoresMaximum })),
  memoryMb: Type.Optional(Type.Integer({ minimum: 64, maximum: 65536 })),
  diskMb: Type.Optional(Type.Integer({ minimum: 64, maximum: 204800 })),
})
export const ResourcesBody = Type.Object({
  production: Type.Optional(Allotment),
  build: Type.Optional(Allotment),
  sleepMode: Type.Optional(SleepMode),
  port: Type.Optional(Port),
})
export type ResourcesBody = Static<typeof ResourcesBody>
const FullAllotment = Type.Required(Allotment)
export const Resources = Type.Object({ production: FullAllotment, build: FullAllotment, sleepMode: SleepMode, port: Port })
export type Resources = Static<typeof Resources>

export const ProjectRoute = Type.Object({
  hostname: Type.String(),
  url: Type.String(),
  kind: oneOf('free', 'custom'),
  primary: Type.Boolean(),
  tls: oneOf('none', 'pending', 'active', 'error'),
  state: oneOf('synced', 'pending', 'error'),
  reason: Type.Optional(Type.String()),
})
export type ProjectRoute = Static<typeof ProjectRoute>

export const ProjectSource = Type.Object({
  kind: oneOf('git', 'local', 'upload', 'image', 'none'),
  provider: nullable(Type.String()),
  owner: nullable(Type.String()),
  repo: nullable(Type.String()),
  branch: nullable(Type.String()),
  url: nullable(Type.String()),
  path: nullable(Type.String()),
  commit: nullable(Type.String()),
})
export type ProjectSource = Static<typeof ProjectSource>

const maybe = nullable(Type.String())
export const ProjectConfig = Type.Object({
  framework: maybe,
  packageManager: maybe,
  installCommand: maybe,
  buildCommand: maybe,
  startCommand: maybe,
  outputDirectory: maybe,
  rootDirectory: maybe,
  dockerfilePath: maybe,
  composePath: maybe,
  buildImage: maybe,
  port: Type.Integer(),
  healthCheck: nullable(HealthCheck),
  volumes: Type.Array(Volume),
  services: Type.Array(Service),
  resources: Type.Object({ production: FullAllotment, build: FullAllotment }),
  sleepMode: SleepMode,
  autoDeploy: Type.Boolean(),
  previews: Type.Boolean(),
  rollbackWindow: Type.Integer(),
  webhookDomain: maybe,
  serverId: maybe,
})
export type ProjectConfig = Static<typeof ProjectConfig>

export const Project = Type.Object({
  id: Id,
  organizationId: Id,
  name: Type.String(),
  slug: Type.String(),
  type: ProjectType,
  location: oneOf('local', 'cloud'),
  config: ProjectConfig,
  source: ProjectSource,
  routes: Type.Array(ProjectRoute),
  status: oneOf(...projectStatuses),
  statusReason: maybe,
  enabled: Type.Boolean(),
  createdAt: Time,
  updatedAt: Time,
})
export type Project = Static<typeof Project>

export const ProjectInfo = Type.Object({
  id: Id,
  runtime: Type.Object({
    driver: maybe,
    status: oneOf(...projectStatuses),
    statusReason: maybe,
    deploymentId: nullable(Id),
    url: maybe,
    port: Type.Integer(),
    startedAt: nullable(Time),
    instances: Type.Integer(),
  }),
  build: Type.Object({
    framework: maybe,
    packageManager: maybe,
    installCommand: maybe,
    buildCommand: maybe,
    startCommand: maybe,
    outputDirectory: maybe,
    image: maybe,
    sizeBytes: nullable(Type.Integer()),
    builtAt: nullable(Time),
  }),
  source: ProjectSource,
})
export type ProjectInfo = Static<typeof ProjectInfo>

export const DeletionItem = Type.Object({
  kind: Type.String(),
  id: Type.String(),
  name: Type.String(),
  sizeBytes: nullable(Type.Integer()),
  kept: Type.Boolean(),
  reason: Type.Optional(Type.String()),
})
export type DeletionItem = Static<typeof DeletionItem>
export const DeletionPreview = Type.Object({
  projectId: Id,
  items: Type.Array(DeletionItem),
  totalSizeBytes: Type.Integer(),
  blockedBy: Type.Array(Type.Object({ kind: Type.String(), id: Type.String(), status: Type.String() })),
})
export const DeletionReport = Type.Object({ projectId: Id, removed: Type.Array(DeletionItem), kept: Type.Array(DeletionItem) })

export const Environment = Type.Object({
  id: Id,
  projectId: Id,
  name: Type.String(),
  slug: Type.String(),
  type: oneOf('production', 'preview', 'development'),
  branch: maybe,
  url: maybe,
  createdAt: Time,
})
export type Environment = Static<typeof Environment>
export const CreateEnvironment = Type.Object({
  name: filledText(80),
  slug: Type.Optional(Slug),
  type: Type.Optional(oneOf('preview', 'production', 'development')),
  branch: Type.Optional(nullable(Branch)),
})

export const EnvKey = Type.String({ minLength: 1, maxLength: limits.envKeyCharacters, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' })
export const EnvChanges = Type.Object({
  environment: Type.Optional(text(80, 1)),
  upserts: Type.Optional(
    Type.Array(
      Type.Object({
        key: EnvKey,
        value: secret(Type.String({ maxLength: limits.envValueBytes })),
        isSecret: Type.Optional(Type.Boolean()),
      }),
      { maxItems: 1000 },
    ),
  ),
  deletes: Type.Optional(Type.Array(EnvKey, { maxItems: 1000 })),
})
export type EnvChanges = Static<typeof EnvChanges>
export const EnvVariable = Type.Object({
  key: Type.String(),
  value: Type.String(),
  isSecret: Type.Boolean(),
  environment: Type.String(),
  updatedAt: Time,
})
export type EnvVariable = Static<typeof EnvVariable>
/** What a read shows in place of a secret value; sent back, it leaves the stored value alone. */
export const secretMask = '••••••••'

export const CloneCredential = Type.Object({ hasToken: Type.Boolean(), token: maybe, setAt: nullable(Time) })
export type CloneCredential = Static<typeof CloneCredential>

export const Commit = Type.Object({ sha: Type.String(), message: Type.String(), author: Type.String(), committedAt: Time })
export const LinkedRepository = Type.Object({
  provider: maybe,
  owner: maybe,
  repo: maybe,
  branch: maybe,
  url: maybe,
  autoDeploy: Type.Boolean(),
  webhook: Type.Object({ active: Type.Boolean(), url: maybe, lastDeliveryAt: nullable(Time) }),
  recentCommits: Type.Array(Commit),
})
export const GitLink = Type.Object({ owner: GitOwner, repo: GitName, branch: Type.Optional(nullable(Branch)) })
export const CommitStatus = Type.Object({
  deployedCommit: maybe,
  remoteCommit: maybe,
  branch: maybe,
  upToDate: Type.Boolean(),
  behindBy: nullable(Type.Integer()),
})
export const ProjectBranch = Type.Object({
  name: Type.String(),
  commit: Type.String(),
  protected: Type.Boolean(),
  default: Type.Boolean(),
})

export const DeploymentSession = Type.Object({
  deploymentId: Id,
  status: Type.String(),
  streamUrl: Type.String(),
  token: Type.String(),
  expiresAt: Time,
})

export const DnsRecord = Type.Object({ type: oneOf('A', 'AAAA', 'CNAME', 'TXT'), name: Type.String(), value: Type.String() })
export const Domain = Type.Object({
  id: Id,
  projectId: Id,
  hostname: Type.String(),
  primary: Type.Boolean(),
  tls: oneOf('none', 'pending', 'active', 'error'),
  state: oneOf('synced', 'pending', 'error'),
  reason: Type.Optional(Type.String()),
  dnsRecords: Type.Array(DnsRecord),
  createdAt: Time,
})
export type Domain = Static<typeof Domain>
export const ConnectDomain = Type.Object({ domain: Hostname })

export const LogLine = Type.Object({
  id: Type.Optional(Type.String()),
  time: Time,
  stream: oneOf('stdout', 'stderr'),
  service: maybe,
  message: Type.String(),
})
export const RequestLine = Type.Object({
  id: Type.String(),
  time: Time,
  ip: Type.String(),
  method: Type.String(),
  host: Type.String(),
  path: Type.String(),
  status: Type.Integer(),
  durationMs: Type.Number(),
  bytesIn: Type.Integer(),
  bytesOut: Type.Integer(),
  userAgent: maybe,
  deploymentId: maybe,
})

export const RuleKind = oneOf('rate-limit', 'ban', 'allow-deny')
const ruleFields = {
  enabled: Type.Optional(Type.Boolean()),
  pathPrefix: Type.Optional(nullable(Type.String({ maxLength: 500, pattern: '^/' }))),
  hostname: Type.Optional(nullable(Hostname)),
  dryRun: Type.Optional(Type.Boolean()),
  expiresAt: Type.Optional(nullable(Time)),
}
export const CreateRule = Type.Object({ kind: RuleKind, ...ruleFields, config: AnyObject })
export type CreateRule = Static<typeof CreateRule>
export const UpdateRule = Type.Object({ kind: Type.Optional(RuleKind), ...ruleFields, config: Type.Optional(AnyObject) })
export type UpdateRule = Static<typeof UpdateRule>
export const RouteRule = Type.Object({
  id: Id,
  projectId: Id,
  kind: RuleKind,
  enabled: Type.Boolean(),
  pathPrefix: maybe,
  hostname: maybe,
  dryRun: Type.Boolean(),
  expiresAt: nullable(Time),
  config: AnyObject,
  hits: Type.Integer(),
  createdAt: Time,
  updatedAt: Time,
})
export type RouteRule = Static<typeof RouteRule>

export const UploadHints = Type.Object({
  name: Type.Optional(text(100)),
  stack: Type.Optional(text(100)),
  packageManager: Type.Optional(text(40)),
})
export const UploadSession = Type.Object({
  sessionId: Id,
  expiresAt: Time,
  upload: Type.Object({ url: Type.String(), method: Type.String(), headers: Type.Record(Type.String(), Type.String()) }),
})

export const Detection = Type.Object({
  name: maybe,
  framework: maybe,
  language: maybe,
  packageManager: maybe,
  installCommand: maybe,
  buildCommand: maybe,
  startCommand: maybe,
  outputDirectory: maybe,
  port: nullable(Type.Integer()),
  type: ProjectType,
  services: Type.Array(AnyObject),
  apps: Type.Array(AnyObject),
  runtimeVersion: AnyObject,
  evidence: Type.Array(Type.Object({ file: Type.String(), says: Type.String() })),
  warnings: Type.Array(Type.String()),
})

export const LocalProject = Type.Object({ ...Project.properties, path: Type.String(), exists: Type.Boolean() })
