import { type Static, Type } from 'typebox'
import { DeploymentPlan } from '../deployments/shapes.ts'
import { Branch, GitName, GitOwner } from '../git-shapes.ts'
import { limits } from '../limits.ts'
import { AnyObject, filledText, Id, maybe, nullable, oneOf, Port, secret, Time, text } from '../shape.ts'
import { projectStatuses, tlsStates } from '../states.ts'
import { ContainerSettings } from './container-shapes.ts'

export const GitProvider = oneOf('github', 'gitlab', 'gitea', 'git', 'local', 'upload')
export const ProjectType = oneOf('app', 'static', 'worker', 'services')
export const SleepMode = oneOf('auto_sleep', 'always_on')
export const Slug = Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' })

/** A relative path without `..`. */
export const relativePath = (maximum: number) =>
  Type.String({ maxLength: maximum, pattern: '^(?!/)(?!(.*/)?\\.\\.(/|$))[^\\u0000-\\u001f\\\\]*$' })
const command = text(500)

export const HealthCheck = Type.Object({
  path: Type.Optional(Type.String({ maxLength: 500, pattern: '^/[^\\u0000-\\u001f\\u007f]*$' })),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 600 })),
  intervalSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 600 })),
  acceptErrors: Type.Optional(Type.Boolean({ description: 'Whether a 4xx or 5xx response counts as healthy, too' })),
})
export type HealthCheck = Static<typeof HealthCheck>

export const Volume = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-zA-Z0-9][a-zA-Z0-9_.-]*$' }),
  mountPath: Type.String({ minLength: 2, maxLength: 300, pattern: '^/(?!(.*/)?\\.\\.(/|$))[^\\u0000-\\u001f:]*$' }),
})
export type Volume = Static<typeof Volume>

/** A service of a `services` project, with Compose's field names. */
export const Service = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-zA-Z0-9][a-zA-Z0-9_.-]*$' }),
  image: Type.Optional(nullable(text(300))),
  build: Type.Optional(
    nullable(
      Type.Object({
        context: relativePath(300),
        dockerfile: Type.Optional(nullable(relativePath(300))),
        dockerfileInline: Type.Optional(nullable(text(65_536))),
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
  route: Type.Optional(
    Type.Boolean({ description: 'Whether the service has the address <service>.<slug>.<base domain>, besides the exposed one' }),
  ),
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
  replicas: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: limits.replicasMaximum }))),
  cpuCores: Type.Optional(nullable(Type.Number({ minimum: 0.1, maximum: limits.cpuCoresMaximum }))),
  memoryMb: Type.Optional(nullable(Type.Integer({ minimum: 16, maximum: 65536 }))),
  labels: Type.Optional(Type.Record(Type.String(), Type.String())),
  container: Type.Optional(nullable(ContainerSettings)),
})
export type Service = Static<typeof Service>

/** A service in a request body: the values of its variables are never shown again. */
const ServiceBody = Type.Object({
  ...Service.properties,
  environment: Type.Optional(secret(Type.Record(Type.String(), Type.String()))),
})

/** Service name → whether the service has its own address, whatever the Compose file publishes. */
export const ServiceRoutes = Type.Record(Type.String({ pattern: '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$' }), Type.Boolean(), {
  maxProperties: 100,
})
export type ServiceRoutes = Static<typeof ServiceRoutes>

/** Resources of production or of builds in a request body; null resets to the default. Fractions of a MB are rounded up. */
const ResourceChanges = Type.Object({
  cpuCores: Type.Optional(nullable(Type.Number({ minimum: 0.1, maximum: limits.cpuCoresMaximum }))),
  memoryMb: Type.Optional(nullable(Type.Number({ minimum: 64, maximum: 65536 }))),
  diskMb: Type.Optional(nullable(Type.Number({ minimum: 64, maximum: 204800 }))),
})
const sidesOfResources = {
  production: Type.Optional(nullable(ResourceChanges)),
  build: Type.Optional(nullable(ResourceChanges)),
}
export type ResourceSides = Static<typeof ResourceSides>
export const ResourceSides = Type.Object(sidesOfResources)

/** Values of a Dockerfile's `ARG`s, by name. They stay readable in the image. */
export const BuildArgs = Type.Record(
  Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,255}$' }),
  Type.String({ maxLength: 4000 }),
  {
    maxProperties: 100,
  },
)
export type BuildArgs = Static<typeof BuildArgs>

/** The target stage of a Dockerfile, by its name or number. */
const BuildTarget = Type.String({ minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$' })

/** An image by its name, such as `nginx:1.27` or `ghcr.io/acme/shop@sha256:…`; never by its id. */
export const ImageName = Type.String({
  minLength: 1,
  maxLength: 300,
  pattern:
    '^(?!(sha256:)?[0-9a-f]{64}$)([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?/)?[a-z0-9]+((\\.|_{1,2}|-+)[a-z0-9]+)*(/[a-z0-9]+((\\.|_{1,2}|-+)[a-z0-9]+)*)*(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$',
  description: 'Image that the project runs instead of a build, such as `nginx:1.27`; null: none',
})

/** Active profiles of the Compose file; services without a profile always run. */
const ComposeProfiles = Type.Array(Type.String({ minLength: 1, maxLength: 63, pattern: '^(\\*|[a-zA-Z0-9][a-zA-Z0-9_.-]*)$' }), {
  maxItems: 50,
})

/** Every field that a user may set with a config route; `null` makes it automatic again. */
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
  composeProfiles: Type.Optional(nullable(ComposeProfiles)),
  buildImage: Type.Optional(nullable(text(200))),
  buildArgs: Type.Optional(nullable(BuildArgs)),
  buildTarget: Type.Optional(nullable(BuildTarget)),
  image: Type.Optional(nullable(ImageName)),
  type: Type.Optional(nullable(ProjectType)),
  port: Type.Optional(nullable(Port)),
  healthCheck: Type.Optional(nullable(HealthCheck)),
  volumes: Type.Optional(nullable(Type.Array(Volume, { maxItems: 50 }))),
  services: Type.Optional(nullable(Type.Array(ServiceBody, { maxItems: limits.servicesMaximum }))),
  serviceRoutes: Type.Optional(nullable(ServiceRoutes)),
  autoDeploy: Type.Optional(nullable(Type.Boolean())),
  previews: Type.Optional(nullable(Type.Boolean())),
  previewsMaximum: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 100 }))),
  previewsMaxAgeDays: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 365 }))),
  rollbackWindow: Type.Optional(nullable(Type.Integer({ minimum: 0, maximum: 20 }))),
  sleepMode: Type.Optional(nullable(SleepMode)),
  resources: Type.Optional(nullable(ResourceSides)),
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

/** Fields of a scan that describe the source and set nothing: if a scan is sent back as a body, they cause no warning. */
export const ignoredScanFields = [
  'language',
  'apps',
  'healthPath',
  'exampleVariables',
  'runtimeVersion',
  'evidence',
  'warnings',
] as const
/** Marks bodies that accept the response of a scan. The fields are removed before the body is validated. */
export const takesScan = { 'x-ignored-fields': ignoredScanFields }

const createFields = {
  name: nullable({
    ...Name,
    description: 'The name; null: the name of the uploaded or local folder, or the current name if `projectId` is set',
  }),
  slug: Type.Optional(nullable(Slug)),
  ...sourceFields,
  ...configFields,
  serverId: Type.Optional(nullable(Id)),
}
export const CreateProject = Type.Object(createFields, takesScan)
export type CreateProject = Static<typeof CreateProject>
/** Unlike in a scan that is sent back, the name must not be null. */
export const UpdateProject = Type.Partial(Type.Object({ ...createFields, name: Name }))
export type UpdateProject = Partial<CreateProject>
export const EnsureProject = Type.Object(
  { ...createFields, name: Type.Optional(createFields.name), projectId: Type.Optional(nullable(Id)) },
  takesScan,
)
export type EnsureProject = Static<typeof EnsureProject>
/** Fields of `import` besides the path. */
export const ImportFields = Type.Partial(Type.Object(createFields))
export const ProjectOptions = Type.Object(configFields)
export type ProjectOptions = Static<typeof ProjectOptions>

export const ResourcesBody = Type.Object({
  ...sidesOfResources,
  sleepMode: Type.Optional(nullable(SleepMode)),
  port: Type.Optional(nullable(Port)),
})
export type ResourcesBody = Static<typeof ResourcesBody>
const ResourceAmounts = Type.Object({ cpuCores: Type.Number(), memoryMb: Type.Integer(), diskMb: Type.Integer() })
export const Resources = Type.Object({ production: ResourceAmounts, build: ResourceAmounts, sleepMode: SleepMode, port: Port })
export type Resources = Static<typeof Resources>

export const ProjectRoute = Type.Object({
  hostname: Type.String(),
  url: Type.String(),
  kind: oneOf('free', 'custom'),
  primary: Type.Boolean(),
  service: Type.Optional(Type.String({ description: 'The service that has this address of its own' })),
  tls: oneOf(...tlsStates),
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
  uploadSessionId: Type.Optional(nullable(Type.String({ description: 'The upload that the next deployment builds' }))),
  commit: nullable(Type.String()),
})
export type ProjectSource = Static<typeof ProjectSource>

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
  composeProfiles: Type.Optional(nullable(Type.Array(Type.String()))),
  buildImage: maybe,
  /** Absent in responses of an older instance. */
  buildArgs: Type.Optional(nullable(BuildArgs)),
  buildTarget: Type.Optional(maybe),
  image: Type.Optional(maybe),
  port: Type.Integer(),
  healthCheck: nullable(HealthCheck),
  volumes: Type.Array(Volume),
  services: Type.Array(Service),
  serviceRoutes: Type.Optional(nullable(ServiceRoutes)),
  resources: Type.Object({ production: ResourceAmounts, build: ResourceAmounts }),
  sleepMode: SleepMode,
  autoDeploy: Type.Boolean(),
  /** Whether a pull request gets its own environment. */
  previews: Type.Boolean(),
  /** The maximum number of previews of the project. */
  previewsMaximum: Type.Integer(),
  /** A preview is removed after this many days without a push; null: never. */
  previewsMaxAgeDays: nullable(Type.Integer()),
  previewsUseProductionVariables: Type.Boolean(),
  rollbackWindow: Type.Integer(),
  webhookDomain: maybe,
  serverId: maybe,
})
export type ProjectConfig = Static<typeof ProjectConfig>

/** Settings that were changed since the live deployment and take effect with the next one. */
export const PendingChange = oneOf('source', 'config', 'env', 'resources')
export type PendingChange = Static<typeof PendingChange>

export const LastExit = Type.Object({
  code: nullable(Type.Integer({ description: 'The exit code; null: the end was not seen' })),
  reason: oneOf('exit', 'signal', 'out_of_memory', 'disk_full', 'unknown'),
  at: Time,
})

/** The status of a service. `completed`: it exited successfully. `exited`: it exited otherwise. Neither is restarted. */
export const ServiceStatus = Type.Object({
  name: Type.String(),
  status: oneOf('starting', 'running', 'restarting', 'unhealthy', 'exited', 'completed', 'sleeping', 'stopped'),
  restarts: Type.Integer({ description: 'How often it was restarted since this version is live' }),
  lastExit: nullable(LastExit),
})
export type ServiceStatus = Static<typeof ServiceStatus>

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
  url: Type.Optional(
    nullable(
      Type.String({
        description: 'The address that works now: the primary domain once it is verified and served, else the free one',
      }),
    ),
  ),
  pendingChanges: Type.Optional(
    Type.Array(PendingChange, {
      description:
        'Changed since the live deployment was made. A restart applies `env` and `resources`, a deployment all of them',
    }),
  ),
  status: oneOf(...projectStatuses),
  statusReason: maybe,
  services: Type.Optional(
    Type.Array(ServiceStatus, { description: 'The services of production, where the project has more than one' }),
  ),
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
    port: nullable(Type.Integer({ description: 'The port that the live deployment listens on' })),
    startedAt: nullable(Time),
    instances: Type.Integer(),
    restarts: Type.Integer({ description: 'Restarts of all services since this version is live' }),
    lastExit: nullable(LastExit),
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
  plan: nullable(DeploymentPlan),
  source: ProjectSource,
  settings: Type.Object(
    { type: ProjectType, config: ProjectConfig, source: ProjectSource },
    { description: 'The settings that the next deployment uses' },
  ),
  pendingChanges: Type.Array(PendingChange),
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
/** The preview and the report of deleting one environment. */
export const EnvironmentDeletionPreview = Type.Object({ ...DeletionPreview.properties, environment: Type.String() })
export const EnvironmentDeletionReport = Type.Object({ ...DeletionReport.properties, environment: Type.String() })

export const DeploymentSession = Type.Object({
  deploymentId: Id,
  status: Type.String(),
  streamUrl: Type.String(),
  token: Type.String(),
  expiresAt: Time,
})

export const LocalProject = Type.Object({ ...Project.properties, path: Type.String(), exists: Type.Boolean() })
