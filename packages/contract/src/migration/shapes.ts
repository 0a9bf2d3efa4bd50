import { type Static, Type } from 'typebox'
import { Project } from '../projects/shapes.ts'
import { filledText, Id, nullable, oneOf } from '../shape.ts'

export const ScanBody = Type.Object({ serverId: Id })
export type ScanBody = Static<typeof ScanBody>

export const AdoptBody = Type.Object({
  serverId: Id,
  projectName: filledText(100),
  serviceNames: Type.Array(filledText(255), { minItems: 1, maxItems: 200 }),
})
export type AdoptBody = Static<typeof AdoptBody>

/** `plan=true` records nothing; the response describes what a deployment would do. */
export const AdoptQuery = Type.Object({ plan: Type.Optional(Type.Boolean()) })

const StringMap = Type.Record(Type.String(), Type.String())

export const DiscoveredMount = Type.Object({
  type: Type.String(),
  source: nullable(Type.String()),
  target: Type.String(),
  readOnly: Type.Boolean(),
})
export type DiscoveredMount = Static<typeof DiscoveredMount>

export const DiscoveredPort = Type.Object({
  containerPort: Type.Integer(),
  hostPort: nullable(Type.Integer()),
  hostIp: nullable(Type.String()),
  protocol: Type.String(),
})
export type DiscoveredPort = Static<typeof DiscoveredPort>

/**
 * A service: a container (`source: 'container'`), or a service of a Compose file, compared with its container if it has one.
 * Values of `env` are masked; `drift` names the fields that differ.
 */
export const DiscoveredService = Type.Object({
  name: Type.String(),
  containerId: nullable(Type.String()),
  containerName: nullable(Type.String()),
  image: nullable(Type.String()),
  state: Type.String(),
  ports: Type.Array(DiscoveredPort),
  env: StringMap,
  volumes: Type.Array(DiscoveredMount),
  networks: Type.Array(Type.String()),
  command: nullable(Type.Array(Type.String())),
  restart: nullable(Type.String()),
  labels: StringMap,
  dependsOn: Type.Array(Type.String()),
  source: oneOf('compose', 'container'),
  managed: Type.Boolean(),
  adoptable: Type.Boolean(),
  reason: Type.Optional(Type.String()),
  drift: Type.Array(Type.String()),
})
export type DiscoveredService = Static<typeof DiscoveredService>

export const ComposeProject = Type.Object({
  name: Type.String(),
  workingDir: nullable(Type.String()),
  configFiles: Type.Array(Type.String()),
  fileState: oneOf('read', 'missing', 'unreadable', 'drifted'),
  services: Type.Array(DiscoveredService),
})
export type ComposeProject = Static<typeof ComposeProject>

export const Stack = Type.Object({
  serverId: Id,
  docker: Type.Object({ version: Type.String() }),
  composeProjects: Type.Array(ComposeProject),
  containers: Type.Array(DiscoveredService),
  volumes: Type.Array(
    Type.Object({ name: Type.String(), driver: Type.String(), labels: StringMap, usedBy: Type.Array(Type.String()) }),
  ),
  networks: Type.Array(Type.Object({ name: Type.String(), driver: Type.String(), usedBy: Type.Array(Type.String()) })),
  warnings: Type.Array(Type.String()),
  summary: Type.Object({
    composeProjects: Type.Integer(),
    services: Type.Integer(),
    containers: Type.Integer(),
    volumes: Type.Integer(),
    networks: Type.Integer(),
    adoptable: Type.Integer(),
  }),
})
export type Stack = Static<typeof Stack>

export const ScanReply = Type.Object({ success: Type.Literal(true), stack: Stack })
export type ScanReply = Static<typeof ScanReply>

/** `renamed`: the name on the server → the name in the project, if two services would share a name. */
export const AdoptReply = Type.Object({
  success: Type.Literal(true),
  /** null: only a plan was requested. */
  project: nullable(Project),
  adopted: Type.Array(
    Type.Object({
      name: Type.String(),
      containerId: nullable(Type.String()),
      containerName: nullable(Type.String()),
      image: nullable(Type.String()),
      volumes: Type.Array(Type.String()),
    }),
  ),
  renamed: StringMap,
  warnings: Type.Array(Type.String()),
  /** The steps that a deployment of it would take on the server. */
  plan: Type.Array(Type.String()),
})
export type AdoptReply = Static<typeof AdoptReply>
