import {
  type ContainerSettings,
  type Deployment,
  HealthCheck,
  type ProjectConfig,
  Resources,
  Service,
  Volume,
} from '@berth/contract'
import { Type } from 'typebox'
import type { BuildPlan } from '../../../drivers/runtime/build-plan.ts'
import type { HealthProgram } from '../../../drivers/runtime/health-program.ts'
import type { Artifact, InlineFile, ResourceLimits } from '../../../drivers/runtime/runtime.ts'
import { jsonColumn } from '../../../platform/db/json-columns/json-column.ts'
import { anyObject, orNull } from '../../../platform/db/json-columns/shapes.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { SiteRules } from '../../../platform/site-rules/site-rules.ts'
import type { Source } from '../../projects/index.ts'
import type { Restarts } from './restart-policy.ts'
import type { UnsetVariables } from './unset-variables.ts'

/**
 * Settings, source, plan and artifacts that a deployment stores as JSON, and the readers of these columns. Fields that an older
 * deployment may lack are not checked.
 */

/** The project's settings, stored with each deployment so that a rollback uses the settings of its time. */
export type DeployedConfig = Pick<
  ProjectConfig,
  | 'framework'
  | 'packageManager'
  | 'installCommand'
  | 'buildCommand'
  | 'startCommand'
  | 'outputDirectory'
  | 'rootDirectory'
  | 'dockerfilePath'
  | 'composePath'
  | 'composeProfiles'
  | 'buildImage'
  | 'buildArgs'
  | 'buildTarget'
  | 'image'
  | 'port'
  | 'healthCheck'
  | 'volumes'
  | 'services'
  | 'serviceRoutes'
  | 'resources'
> & {
  type: ProjectRow['type']
  /** True when the user set the port. Absent in older deployments, which keep their port. */
  portChosen?: boolean
}

/** The config of an imported deployment, as the other instance showed it. */
export type ImportedConfig = Pick<Deployment, 'image' | 'plan' | 'source'>

/** The source of a deployment at the time of the request. */
export type DeployedSource =
  | Exclude<Source, { kind: 'git' }>
  | {
      kind: 'git'
      url: string
      branch: string | null
      commit: string | null
      /** The ref that contains the commit when no branch of the repository does, such as a fork's pull request. */
      ref?: string
      /** Untrusted code from a fork: the repository's credential is used for this repository only, not for others it references. */
      fromFork?: true
    }

/** A unit is built and run as one: the project itself, or one of its services. */
export interface Unit extends Restarts {
  /** '' for the project itself. */
  service: string
  build: BuildPlan | null
  /** The image to run; null when the unit is built. */
  image: string | null
  command: string[] | null
  entrypoint: string[] | null
  environment: Record<string, string>
  /** Names of the project's variables that the unit gets; absent: all. */
  variables?: string[]
  port: number | null
  /** True for the unit that receives the project's requests. */
  exposed: boolean
  /** Label of the unit's own host name, in front of the environment's host name. */
  route?: string
  volumes: { name: string; mountPath: string; readOnly: boolean }[]
  dependsOn: string[]
  allotment: ResourceLimits
  /** Number of instances; absent: one. */
  replicas?: number
  labels?: Record<string, string>
  /** Files whose content is in the Compose file or in a variable. */
  inlineFiles?: InlineFile[]
  /** Files of the project that are mounted into the container. */
  files?: ProjectFiles[]
  /** Container settings beyond those of the image. */
  container?: ContainerSettings
  /** Health check path from the source, used when the settings have none. */
  healthPath?: string
  /** The health check from the Compose file, which replaces the image's own; null disables that one. */
  healthProgram?: HealthProgram | null
}

export const replicasOf = ({ replicas = 1 }: Pick<Unit, 'replicas'>): number => replicas

export interface ProjectFiles {
  /** Relative to the source folder. */
  from: string
  to: string
  readOnly: boolean
}

export interface DeployPlan {
  type: DeployedConfig['type']
  units: Unit[]
  /** Variables that services reference as `${NAME}`: each is passed only to those services. */
  ownVariables?: string[]
  /** Resources that services set themselves; the rest comes from the project. */
  ownResources?: Record<string, Partial<ResourceLimits>>
  /** Variables that a template in the source names and that were not set; a failure names them. */
  unsetVariables?: UnsetVariables
  /** Redirects and headers of a static site, as far as its source sets them. */
  siteRules?: SiteRules
}

const text = Type.String()
const { production, build } = Resources.properties

export const deployedConfig = jsonColumn(
  'deployments',
  'config',
  Type.Unsafe<DeployedConfig>(
    Type.Object({
      type: text,
      port: Type.Number(),
      healthCheck: orNull(HealthCheck),
      volumes: Type.Array(Volume),
      services: Type.Array(Service),
      resources: Type.Object({ production, build }),
    }),
  ),
)

export const importedConfig = jsonColumn(
  'deployments',
  'config',
  Type.Unsafe<ImportedConfig>(Type.Object({ image: orNull(text), plan: orNull(anyObject) })),
)

export const deployedSource = jsonColumn(
  'deployments',
  'source',
  Type.Unsafe<DeployedSource>(
    Type.Object({
      kind: text,
      url: Type.Optional(text),
      branch: Type.Optional(orNull(text)),
      path: Type.Optional(text),
      sessionId: Type.Optional(text),
    }),
  ),
)

/** Whether the deployed code comes from a fork. */
export function isFromFork(deployment: Pick<DeploymentRow, 'id' | 'source'>): boolean {
  const source = deployedSource(deployment)
  return source.kind === 'git' && source.fromFork === true
}

export const storedPlan = jsonColumn(
  'deployments',
  'plan',
  Type.Unsafe<DeployPlan>(
    Type.Object({
      type: text,
      units: Type.Array(
        Type.Object({
          service: text,
          build: orNull(Type.Object({ kind: text })),
          image: orNull(text),
          port: orNull(Type.Number()),
          volumes: Type.Array(Type.Object({ name: text, mountPath: text })),
          dependsOn: Type.Array(text),
          allotment: production,
        }),
      ),
    }),
  ),
)

export const storedArtifacts = jsonColumn(
  'deployments',
  'artifacts',
  Type.Unsafe<Record<string, Artifact>>(
    Type.Record(text, Type.Object({ kind: text, reference: text, sizeBytes: Type.Number() })),
  ),
)

/** The plan of a deployment that has been planned. */
export const planOf = (deployment: Pick<DeploymentRow, 'id' | 'plan'>): DeployPlan =>
  storedPlan(deployment) ?? missing('plan', deployment)

/** The artifacts of a deployment that has been built. */
export const artifactsOf = (deployment: Pick<DeploymentRow, 'id' | 'artifacts'>): Record<string, Artifact> =>
  storedArtifacts(deployment) ?? missing('artifacts', deployment)

function missing(column: string, { id }: Pick<DeploymentRow, 'id'>): never {
  throw new Error(`The deployment ${id} has no ${column} yet`)
}
