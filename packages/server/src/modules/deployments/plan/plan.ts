import { posix } from 'node:path'
import type { ContainerSettings, ProjectConfig, Service } from '@berth/contract'
import { limits } from '@berth/contract/limits'
import type { HealthProgram } from '../../../drivers/runtime/health-program.ts'
import { type Allotment, type Artifact, type BuildPlan, emptyPlan, type InlineFile } from '../../../drivers/runtime/runtime.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { SiteRules } from '../../../platform/site-rules/site-rules.ts'
import type { Detection } from '../../../source/detection/index.ts'
import { exposedService } from '../../../source/exposed-service.ts'
import { healthProgramOf } from './health-program.ts'
import { needsDocker, nothingStartsIt, PlanRefused } from './plan-refused.ts'
import { type Restarts, restartOf } from './restart-policy.ts'
import { routeLabels } from './service-routes.ts'
import { withVariables } from './service-variables.ts'

/** The project's settings as a deployment keeps them, so that a rollback runs with those of its time. */
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
  /** Somebody set it; absent in deployments from before it was recorded, whose port stands. */
  portChosen?: boolean
}

export function configOf(project: ProjectRow): DeployedConfig {
  return {
    type: project.type,
    framework: project.framework,
    packageManager: project.packageManager,
    installCommand: project.installCommand,
    buildCommand: project.buildCommand,
    startCommand: project.startCommand,
    outputDirectory: project.outputDirectory,
    rootDirectory: project.rootDirectory,
    dockerfilePath: project.dockerfilePath,
    composePath: project.composePath,
    composeProfiles: project.composeProfiles === null ? null : JSON.parse(project.composeProfiles),
    buildImage: project.buildImage,
    buildArgs: project.buildArgs === null ? null : JSON.parse(project.buildArgs),
    buildTarget: project.buildTarget,
    image: project.image,
    port: project.port,
    portChosen: project.portChosen === 1,
    healthCheck: project.healthCheck === null ? null : JSON.parse(project.healthCheck),
    volumes: JSON.parse(project.volumes),
    services: JSON.parse(project.services),
    serviceRoutes: project.serviceRoutes === null ? null : JSON.parse(project.serviceRoutes),
    resources: JSON.parse(project.resources),
  }
}

/** One thing that is built and run: the project itself, or a service of it. */
export interface Unit extends Restarts {
  /** '' for the project itself. */
  service: string
  build: BuildPlan | null
  /** Instead of a build. */
  image: string | null
  command: string[] | null
  entrypoint: string[] | null
  environment: Record<string, string>
  /** The project's variables that it gets besides; absent: all. */
  variables?: string[]
  port: number | null
  /** Requests go to this one. */
  exposed: boolean
  /** It has an address of its own besides: the label in front of the environment's host name. */
  route?: string
  volumes: { name: string; mountPath: string; readOnly: boolean }[]
  dependsOn: string[]
  allotment: Allotment
  /** How many instances of it run; absent: one. */
  replicas?: number
  labels?: Record<string, string>
  /** Files whose content the Compose file says itself, or a variable holds. */
  inlineFiles?: InlineFile[]
  /** Files of the project that it finds at a path inside. */
  files?: ProjectFiles[]
  /** How its container is set up, beyond what its image says. */
  container?: ContainerSettings
  /** The path that the source names for health checks, where the settings name none. */
  healthPath?: string
  /** The health check that the Compose file declares instead of the image's own; null turns that one off. */
  healthProgram?: HealthProgram | null
}

/** How many instances of a unit run. */
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
  /** Variables of the project that services name as `${NAME}`: each reaches those services alone. */
  ownVariables?: string[]
  /** Amounts that services have by themselves; the others are the project's. */
  ownResources?: Record<string, Partial<Allotment>>
  /** Of a static site: where its addresses lead and what is said with them, as far as its source says. */
  siteRules?: SiteRules
}

export const planOf = (deployment: Pick<DeploymentRow, 'plan'>) => JSON.parse(deployment.plan as string) as DeployPlan
export const artifactsOf = (deployment: Pick<DeploymentRow, 'artifacts'>) =>
  JSON.parse(deployment.artifacts as string) as Record<string, Artifact>

/** What the settings leave open is what detection found. */
export function planDeployment(
  config: DeployedConfig,
  detected: Detection | null,
  variables: readonly string[] = [],
): DeployPlan {
  if (config.image) return imagePlan(config, config.image)
  const type = typeOf(config, detected)
  if (type === 'services') {
    const { services, ownVariables } = withVariables(config.services, variables)
    const ownResources = ownResourcesOf(servicesOf({ ...config, services }, detected))
    return {
      type,
      units: serviceUnits({ ...config, services }, detected),
      ...(ownVariables.length > 0 ? { ownVariables } : {}),
      ownResources,
    }
  }
  if (!detected) throw new PlanRefused('There is no source to build')
  if (detected.mismatch && !config.startCommand && config.dockerfilePath === null) throw new PlanRefused(detected.mismatch)
  const build = buildPlan(config, detected, type)
  if (type !== 'static' && build.kind === 'stack' && !build.startCommand)
    throw new PlanRefused(detected.leftOut ? needsDocker.dockerfile : nothingStartsIt)
  return {
    type,
    ...(type === 'static' && detected.siteRules ? { siteRules: detected.siteRules } : {}),
    units: [
      {
        service: '',
        build,
        image: null,
        command: null,
        entrypoint: null,
        environment: {},
        port: type === 'app' ? build.port : null,
        exposed: type === 'app',
        volumes: config.volumes.map(({ name, mountPath }) => ({ name, mountPath, readOnly: false })),
        dependsOn: [],
        allotment: config.resources.production,
        restart: true,
        ...(type === 'app' && detected.healthPath ? { healthPath: detected.healthPath } : {}),
      },
    ],
  }
}

/** Nothing is built. The port is the image's own where none was set, and known once the image is here. */
function imagePlan(config: DeployedConfig, image: string): DeployPlan {
  const type = config.type === 'worker' ? 'worker' : 'app'
  const unit: Unit = {
    service: '',
    build: null,
    image,
    command: null,
    entrypoint: null,
    environment: {},
    port: type === 'app' ? config.port : null,
    exposed: type === 'app',
    volumes: config.volumes.map(({ name, mountPath }) => ({ name, mountPath, readOnly: false })),
    dependsOn: [],
    allotment: config.resources.production,
    restart: true,
  }
  return { type, units: [unit] }
}

/** `composePath` decides; else a start command makes an app of the project, and the source tells the rest. */
function typeOf({ type, composePath, startCommand }: DeployedConfig, detected: Detection | null): DeployPlan['type'] {
  if (detected && composePath !== null) return detected.type
  return type === 'app' && detected && !startCommand ? detected.type : type
}

function buildPlan(config: DeployedConfig, detected: Detection, type: DeployPlan['type']): BuildPlan {
  const usesDockerfile = config.dockerfilePath !== null || (detected.framework === 'dockerfile' && !config.startCommand)
  return {
    kind: type === 'static' ? 'static' : usesDockerfile ? 'dockerfile' : 'stack',
    language: detected.language,
    framework: detected.framework ?? config.framework,
    packageManager: detected.packageManager ?? config.packageManager,
    runtimeVersion: detected.runtimeVersion,
    installCommand: config.installCommand ?? detected.installCommand,
    buildCommand: config.buildCommand ?? detected.buildCommand,
    startCommand: config.startCommand ?? detected.startCommand,
    outputDirectory: config.outputDirectory ?? detected.outputDirectory,
    rootDirectory: config.rootDirectory ?? detected.rootDirectory ?? '',
    dockerfilePath: config.dockerfilePath ?? (usesDockerfile ? 'Dockerfile' : null),
    dockerTarget: config.buildTarget ?? null,
    buildArguments: config.buildArgs ?? {},
    buildImage: config.buildImage,
    port: portOf(config, detected),
  }
}

/** A port that somebody set stands; else the app's own. A Dockerfile that was named by hand is not what detection looked at. */
function portOf({ port, portChosen, dockerfilePath }: DeployedConfig, detected: Detection): number {
  const isOther = dockerfilePath !== null && detected.framework !== 'dockerfile'
  return portChosen === false && !isOther ? (detected.port ?? port) : port
}

const servicesOf = (config: DeployedConfig, detected: Detection | null): Service[] =>
  config.services.length > 0 ? config.services : (detected?.services ?? [])

const ownResourcesOf = (services: readonly Service[]): NonNullable<DeployPlan['ownResources']> =>
  Object.fromEntries(
    services.flatMap(({ name, cpuCores, memoryMb }) => {
      const own = { ...(cpuCores ? { cpuCores } : {}), ...(memoryMb ? { memoryMb } : {}) }
      return Object.keys(own).length > 0 ? [[name, own]] : []
    }),
  )

/** The same plan with other resources than it was made with. */
export const withResources = (
  plan: DeployPlan,
  before: DeployedConfig['resources'],
  { production }: DeployedConfig['resources'],
): DeployPlan => ({
  ...plan,
  units: plan.units.map((unit) => ({ ...unit, allotment: { ...production, ...ownAmounts(unit, plan, before) } })),
})

/** A plan from before they were recorded: those that differ from the project's. */
function ownAmounts(
  { service, allotment }: Unit,
  { type, ownResources }: DeployPlan,
  { production }: DeployedConfig['resources'],
) {
  if (type !== 'services') return {}
  if (ownResources) return ownResources[service] ?? {}
  return {
    ...(allotment.cpuCores === production.cpuCores ? {} : { cpuCores: allotment.cpuCores }),
    ...(allotment.memoryMb === production.memoryMb ? {} : { memoryMb: allotment.memoryMb }),
  }
}

function serviceUnits(config: DeployedConfig, detected: Detection | null): Unit[] {
  const services = servicesOf(config, detected)
  const refused = services === detected?.services ? (detected.refused ?? []) : []
  if (refused.length > 0) throw new PlanRefused(`This Compose file cannot be deployed: ${refused.slice(0, 5).join('; ')}`)
  if (services.length === 0) throw new PlanRefused('The project has no services')
  refuseTooMany(services)
  const exposed = exposedService(services)
  const labels = routeLabels(services, exposed, config.serviceRoutes ?? {})
  const units = services.map((service) => {
    const route = labels.get(service.name)
    const fromFile = services === detected?.services ? detected : undefined
    const variables = fromFile?.serviceVariables?.[service.name]
    const inlineFiles = fromFile?.serviceFiles?.[service.name]
    return {
      ...serviceUnit(service, service === exposed, config),
      ...(route ? { route } : {}),
      ...(variables ? { variables } : {}),
      ...(inlineFiles ? { inlineFiles } : {}),
    }
  })
  return inStartOrder(units)
}

/** Bridges and addresses are those of the machine, which all of its projects share. */
function refuseTooMany(services: readonly Service[]): void {
  const networks = new Set(services.flatMap(({ container }) => container?.networks?.map(({ name }) => name) ?? []))
  const counts = [
    ['services', services.length, limits.servicesMaximum],
    ['networks', networks.size, limits.networksMaximum],
    ['containers', services.reduce((sum, { replicas }) => sum + (replicas || 1), 0), limits.instancesMaximum],
  ] as const
  for (const [what, count, most] of counts)
    if (count > most)
      throw new PlanRefused(`The project has ${count} ${what}, and at most ${most} are run: split it into several`)
}

function serviceUnit(service: Service, exposed: boolean, config: DeployedConfig): Unit {
  const { production } = config.resources
  const healthProgram = healthProgramOf(service.healthcheck)
  return {
    service: service.name,
    image: service.build ? null : (service.image ?? null),
    build: service.build ? dockerfileOf(service.build, config) : null,
    command: service.command ?? null,
    entrypoint: service.entrypoint ?? null,
    environment: service.environment ?? {},
    // Without a network nothing reaches it.
    port: service.container?.networks?.length === 0 ? null : (service.ports?.[0] ?? (exposed ? config.port : null)),
    exposed,
    volumes: (service.volumes ?? [])
      .filter(({ type, source }) => type === 'volume' && source)
      .map(({ source, target, readOnly }) => ({ name: source as string, mountPath: target, readOnly: readOnly ?? false })),
    dependsOn: service.dependsOn ?? [],
    allotment: {
      cpuCores: service.cpuCores ?? production.cpuCores,
      memoryMb: service.memoryMb ?? production.memoryMb,
      diskMb: production.diskMb,
    },
    ...restartOf(service.restart),
    ...(service.replicas && service.replicas > 1 ? { replicas: service.replicas } : {}),
    ...(Object.keys(service.labels ?? {}).length > 0 ? { labels: service.labels } : {}),
    files: filesOf(service, config),
    ...(service.container ? { container: service.container } : {}),
    ...(healthProgram === undefined ? {} : { healthProgram }),
  }
}

/** What Compose would bind from the project's folder. */
const filesOf = ({ volumes = [] }: Service, { rootDirectory }: DeployedConfig): ProjectFiles[] =>
  volumes.flatMap(({ type, source, target, readOnly = false }) =>
    type === 'bind' && source ? [{ from: posix.join(rootDirectory ?? '', source), to: target, readOnly }] : [],
  )

function dockerfileOf(
  { context, dockerfile, dockerfileInline, target, args }: NonNullable<Service['build']>,
  config: DeployedConfig,
): BuildPlan {
  const contextFolder = context.replace(/^\.\/?/, '')
  return {
    ...plainDockerfile,
    rootDirectory: [config.rootDirectory, contextFolder].filter(Boolean).join('/'),
    dockerfilePath: dockerfile ?? 'Dockerfile',
    ...(dockerfileInline ? { dockerfileText: dockerfileInline } : {}),
    dockerTarget: target ?? null,
    buildArguments: { ...config.buildArgs, ...args },
    port: config.port,
  }
}

/** A Dockerfile says itself all that a stack would be asked for. */
export const plainDockerfile: BuildPlan = { ...emptyPlan, kind: 'dockerfile' }

/** What others depend on comes first; a circle is refused by name. */
export function inStartOrder(units: readonly Unit[]): Unit[] {
  const byName = new Map(units.map((unit) => [unit.service, unit]))
  const ordered = new Set<Unit>()
  const place = (unit: Unit, path: readonly string[]) => {
    if (ordered.has(unit)) return
    if (path.includes(unit.service))
      throw new PlanRefused(`Services depend on each other in a circle: ${[...path, unit.service].join(' → ')}`)
    for (const name of unit.dependsOn) {
      const needed = byName.get(name)
      if (needed) place(needed, [...path, unit.service])
    }
    ordered.add(unit)
  }
  for (const unit of units) place(unit, [])
  return [...ordered]
}
