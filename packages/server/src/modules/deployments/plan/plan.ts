import { posix } from 'node:path'
import type { Service } from '@berth/contract'
import { limits } from '@berth/contract/limits'
import { type BuildPlan, emptyPlan } from '../../../drivers/runtime/build-plan.ts'
import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { Detection } from '../../../source/detection/index.ts'
import { exposedService } from '../../../source/exposed-service.ts'
import type { DeployedConfig, DeployPlan, ProjectFiles, Unit } from './deployed.ts'
import { healthProgramOf } from './health-program.ts'
import { missingStart, needsDocker, PlanRefused } from './plan-refused.ts'
import { restartOf } from './restart-policy.ts'
import { routeLabels } from './service-routes.ts'
import { withVariables } from './service-variables.ts'

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
    composeProfiles: projectJson.composeProfiles(project),
    buildImage: project.buildImage,
    buildArgs: projectJson.buildArgs(project),
    buildTarget: project.buildTarget,
    image: project.image,
    port: project.port,
    portChosen: project.portChosen === 1,
    healthCheck: projectJson.healthCheck(project),
    volumes: projectJson.volumes(project),
    services: projectJson.services(project),
    serviceRoutes: projectJson.serviceRoutes(project),
    resources: projectJson.resources(project),
  }
}

/**
 * The plan of a deployment. Detected values are used for settings that are not set. Detection knows the set framework and package
 * manager, so its result for these two takes precedence: it differs from a setting that the source or the runtime does not support.
 */
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
  if (!detected) throw new PlanRefused('The project has no source to build')
  if (detected.mismatch && !config.startCommand && config.dockerfilePath === null) throw new PlanRefused(detected.mismatch)
  const build = buildPlan(config, detected, type)
  if (type !== 'static' && build.kind === 'stack' && !build.startCommand)
    throw new PlanRefused(detected.unsupportedFramework ? needsDocker.dockerfile : missingStart(detected))
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

/** The plan of an image project, without a build. If no port is set, the image's port is used once the image is pulled. */
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

/**
 * The type of the plan. Detection decides it if the settings name a Compose file, and for an app without a start command. Otherwise
 * the settings decide it.
 */
function typeOf({ type, composePath, startCommand }: DeployedConfig, detected: Detection | null): DeployPlan['type'] {
  if (detected && composePath !== null) return detected.type
  // The project was created as the services of a Compose file that the runtime does not support.
  if (type === 'services' && detected?.unsupportedFramework === 'compose') return detected.type
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

/**
 * The port: the user's, else the detected one. If the user named a Dockerfile and detection found another framework, the detected
 * port is not that of the Dockerfile and is ignored.
 */
function portOf({ port, portChosen, dockerfilePath }: DeployedConfig, detected: Detection): number {
  const isUnreadDockerfile = dockerfilePath !== null && detected.framework !== 'dockerfile'
  return portChosen === false && !isUnreadDockerfile ? (detected.port ?? port) : port
}

const servicesOf = (config: DeployedConfig, detected: Detection | null): Service[] =>
  config.services.length > 0 ? config.services : (detected?.services ?? [])

const ownResourcesOf = (services: readonly Service[]): NonNullable<DeployPlan['ownResources']> =>
  Object.fromEntries(
    services.flatMap(({ name, cpuCores, memoryMb }) => {
      const resources = { ...(cpuCores ? { cpuCores } : {}), ...(memoryMb ? { memoryMb } : {}) }
      return Object.keys(resources).length > 0 ? [[name, resources]] : []
    }),
  )

/** Returns the plan with other resources. */
export const withResources = (
  plan: DeployPlan,
  before: DeployedConfig['resources'],
  { production }: DeployedConfig['resources'],
): DeployPlan => ({
  ...plan,
  units: plan.units.map((unit) => ({ ...unit, allotment: { ...production, ...serviceResources(unit, plan, before) } })),
})

/**
 * Resources that the service sets itself. Older plans do not record them: every value that differs from the project's counts as
 * set by the service.
 */
function serviceResources(
  { service, allotment: resources }: Unit,
  { type, ownResources }: DeployPlan,
  { production }: DeployedConfig['resources'],
) {
  if (type !== 'services') return {}
  if (ownResources) return ownResources[service] ?? {}
  return {
    ...(resources.cpuCores === production.cpuCores ? {} : { cpuCores: resources.cpuCores }),
    ...(resources.memoryMb === production.memoryMb ? {} : { memoryMb: resources.memoryMb }),
  }
}

function serviceUnits(config: DeployedConfig, detected: Detection | null): Unit[] {
  const services = servicesOf(config, detected)
  const refused = services === detected?.services ? (detected.refused ?? []) : []
  if (refused.length > 0) throw new PlanRefused(`This Compose file cannot be deployed: ${refused.slice(0, 5).join('; ')}`)
  if (services.length === 0) throw new PlanRefused('The project has no services')
  refuseTooMany(services)
  const mainService = exposedService(services)
  const labels = routeLabels(services, mainService, config.serviceRoutes ?? {})
  const units = services.map((service) => {
    const route = labels.get(service.name)
    const detectedPlan = services === detected?.services ? detected : undefined
    const variables = detectedPlan?.serviceVariables?.[service.name]
    const inlineFiles = detectedPlan?.serviceFiles?.[service.name]
    return {
      ...serviceUnit(service, service === mainService, config),
      ...(route ? { route } : {}),
      ...(variables ? { variables } : {}),
      ...(inlineFiles ? { inlineFiles } : {}),
    }
  })
  return inStartOrder(units)
}

/** Limits the counts: all projects of the machine share its bridges and addresses. */
function refuseTooMany(services: readonly Service[]): void {
  const networks = new Set(services.flatMap(({ container }) => container?.networks?.map(({ name }) => name) ?? []))
  const counts = [
    ['services', services.length, limits.servicesMaximum],
    ['networks', networks.size, limits.networksMaximum],
    ['containers', services.reduce((sum, { replicas }) => sum + (replicas || 1), 0), limits.instancesMaximum],
  ] as const
  for (const [noun, count, maximum] of counts)
    if (count > maximum)
      throw new PlanRefused(`The project has ${count} ${noun}, but the maximum is ${maximum}. Split it into several projects.`)
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
    // A service without a network has no reachable port.
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

/** Files and folders of the project that Compose bind-mounts. */
const filesOf = ({ volumes = [] }: Service, { rootDirectory }: DeployedConfig): ProjectFiles[] =>
  volumes.flatMap(({ type, source, target, readOnly = false }) =>
    type === 'bind' && source ? [{ from: posix.join(rootDirectory ?? '', source), to: target, readOnly }] : [],
  )

function dockerfileOf(
  { context, dockerfile, dockerfileInline, target, args }: NonNullable<Service['build']>,
  config: DeployedConfig,
): BuildPlan {
  const contextFolder = context.replace(/^\.(\/|$)/, '')
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

/** A build plan without stack settings: the Dockerfile contains them. */
export const plainDockerfile: BuildPlan = { ...emptyPlan, kind: 'dockerfile' }

/** Orders units so that dependencies start first; throws on a dependency cycle. */
export function inStartOrder(units: readonly Unit[]): Unit[] {
  const byName = new Map(units.map((unit) => [unit.service, unit]))
  const ordered = new Set<Unit>()
  const visit = (unit: Unit, path: readonly string[]) => {
    if (ordered.has(unit)) return
    if (path.includes(unit.service))
      throw new PlanRefused(`Services depend on each other in a circle: ${[...path, unit.service].join(' → ')}`)
    for (const name of unit.dependsOn) {
      const dependency = byName.get(name)
      if (dependency) visit(dependency, [...path, unit.service])
    }
    ordered.add(unit)
  }
  for (const unit of units) visit(unit, [])
  return [...ordered]
}
