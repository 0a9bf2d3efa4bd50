import { posix } from 'node:path'
import type { Service } from '@berth/contract'
import { limits } from '@berth/contract/limits'
import { holdsData } from '../exposed-service.ts'
import { splitWords } from './command-words.ts'
import { containerOf } from './container-settings.ts'
import type { ComposeCommand, ComposeFile, ComposeInlineFile, ComposeService, Problem } from './model.ts'
import { internalNetworks } from './service-networks.ts'

export interface ProjectServices {
  services: Service[]
  /** Inline files by service. */
  files: Record<string, ComposeInlineFile[]>
  /** Services that are not started, as with `docker compose up`. */
  leftOut: string[]
  warnings: Problem[]
  refused: Problem[]
}

/** Converts a file's services to the form of a project's create body; values outside its limits are refused. */
export function toProjectServices(file: ComposeFile, profiles: readonly string[] = []): ProjectServices {
  const warnings: Problem[] = []
  const refused: Problem[] = []
  const started = file.services.filter((service) => isStarted(service, profiles))
  const exposed = chooseExposedService(started)
  const tasks = tasksIn(started)
  const internal = internalNetworks(file)
  const services = started.map((service) => {
    const refuse = (field: string, message: string) => refused.push({ path: `services.${service.name}.${field}`, message })
    refuseDependencies(service, file.services, profiles, refuse)
    const isReachable = service === exposed || isPublished(service)
    warnings.push(...unpublishedPorts(service, isReachable))
    return {
      name: service.name,
      image: service.image,
      build: buildOf(service),
      command: commandWords(service.command, (message) => refuse('command', message)),
      entrypoint: commandWords(service.entrypoint, (message) => refuse('entrypoint', message)),
      environment: service.environment,
      ports: portsOf(service),
      exposed: service === exposed,
      ...(service !== exposed && isPublished(service) ? { route: true } : {}),
      volumes: service.volumes.map(({ type, source, target, readOnly }) => ({
        type,
        source: type === 'volume' ? (source ?? anonymousName(service.name, target)) : source,
        target,
        readOnly,
      })),
      dependsOn: service.dependsOn.map((dependency) => dependency.service),
      healthcheck: service.healthcheck && { ...service.healthcheck },
      restart: restartOf(service, tasks),
      ...replicasOf(service, refuse),
      cpuCores: withinLimits(service.cpuCores, 0.1, limits.cpuCoresMaximum, (message) => refuse('cpus', message)),
      memoryMb: withinLimits(service.memoryMb, 16, 65536, (message) => refuse('mem_limit', message)),
      labels: service.labels,
      ...containerOf(service, internal, refuse),
    }
  })
  const excluded = file.services.filter((service) => !started.includes(service))
  const names = new Set(services.map(({ name }) => name))
  return {
    services: services.map((service) => ({ ...service, dependsOn: service.dependsOn.filter((name) => names.has(name)) })),
    files: Object.fromEntries(started.filter(({ files }) => files.length > 0).map(({ name, files }) => [name, files])),
    leftOut: excluded.map(({ name }) => name),
    warnings: [...warnings, ...excluded.map(exclusionReason), ...unknownProfiles(file, profiles)],
    refused,
  }
}

/** Services that another one waits for until they complete. */
const tasksIn = (services: readonly ComposeService[]): ReadonlySet<string> =>
  new Set(
    services.flatMap(({ dependsOn }) =>
      dependsOn.flatMap(({ service, condition }) => (condition === 'service_completed_successfully' ? [service] : [])),
    ),
  )

/** The restart policy. Compose restarts nothing without one; a known one-shot task gets `no`. */
function restartOf({ name, restart }: ComposeService, tasks: ReadonlySet<string>): string | null {
  if (!restart) return tasks.has(name) ? 'no' : null
  return restart.maxRetries === null ? restart.policy : `${restart.policy}:${restart.maxRetries}`
}

const isStarted = ({ profiles: own, replicas }: ComposeService, profiles: readonly string[]) =>
  replicas !== 0 && (own.length === 0 || profiles.includes('*') || own.some((name) => profiles.includes(name)))

const exclusionReason = ({ name, profiles, replicas }: ComposeService): Problem =>
  replicas === 0
    ? { path: `services.${name}.scale`, message: 'the service does not run: it is scaled to 0' }
    : {
        path: `services.${name}.profiles`,
        message: `the service does not run: set composeProfiles to run one of its profiles (${profiles.join(', ')})`,
      }

function unknownProfiles({ services }: ComposeFile, profiles: readonly string[]): Problem[] {
  const known = new Set(['*', ...services.flatMap((service) => service.profiles)])
  return profiles
    .filter((name) => !known.has(name))
    .map((name) => ({ path: '', message: `composeProfiles: no service has the profile "${name}"` }))
}

/** Refuses dependencies on services that are not started, as Compose does. */
function refuseDependencies(
  { dependsOn }: ComposeService,
  services: readonly ComposeService[],
  profiles: readonly string[],
  refuse: (field: string, message: string) => void,
): void {
  for (const { service: name, required } of dependsOn) {
    const other = services.find((service) => service.name === name)
    if (other && required && !isStarted(other, profiles))
      refuse('depends_on', `"${name}" does not run: ${exclusionReason(other).message.replace(/^the service does not run: /, '')}`)
  }
}

/** Volume name for an anonymous volume; it belongs to the service and is kept like the others. */
const anonymousName = (service: string, target: string) => `${service}${target}`.replace(/[^a-zA-Z0-9_.-]+/g, '-').slice(0, 63)

function replicasOf(
  { replicas, containerName }: ComposeService,
  refuse: (field: string, message: string) => void,
): Pick<Service, 'replicas'> {
  if (replicas === null || replicas <= 1) return {}
  if (containerName !== null) refuse('container_name', 'only one container can have the name: remove it, or set scale to 1')
  if (replicas > limits.replicasMaximum) refuse('scale', `${replicas} is more than the maximum of ${limits.replicasMaximum}`)
  return { replicas: Math.min(replicas, limits.replicasMaximum) }
}

/** Warns about host ports that are not published: the edge serves only the first port of a service. */
function unpublishedPorts(service: ComposeService, isReachable: boolean): Problem[] {
  const first = isReachable ? portsOf(service)[0] : undefined
  const others = service.ports.filter(({ target, protocol }) => protocol !== 'tcp' || target !== first)
  if (others.length === 0) return []
  const list = [...new Set(others.map(({ target, protocol }) => `${target}/${protocol}`))].slice(0, 10).join(', ')
  return [
    { path: `services.${service.name}.ports`, message: `${list} is not published on the machine; services reach it by name` },
  ]
}

/** Chooses the service to expose, for which Compose files have no field: one on port 80, else one that no other service depends on. */
function chooseExposedService(started: readonly ComposeService[]): ComposeService | null {
  const servers = started.filter((service) => !isDatabase(service))
  const published = servers.filter((service) => service.ports.some((port) => port.protocol === 'tcp'))
  const reachable = published.length > 0 ? published : servers.filter((service) => service.expose.length > 0)
  const products = reachable.filter((service) => !isTool(service))
  const candidates = products.length > 0 ? products : reachable
  const dependencies = new Set(started.flatMap(({ dependsOn }) => dependsOn.map(({ service }) => service)))
  const entryServices = candidates.filter(({ name }) => !dependencies.has(name))
  const publishedOn = (wanted: number) => candidates.find(({ ports }) => ports.some(({ published }) => published === wanted))
  return (
    publishedOn(80) ??
    publishedOn(443) ??
    entryServices.find(({ ports }) => ports.some(({ target }) => target === 80)) ??
    entryServices.find(({ build }) => build) ??
    entryServices[0] ??
    candidates.find(({ build }) => build) ??
    candidates[0] ??
    null
  )
}

/** Whether the service is published to the outside. Ports bound to loopback and databases are not. */
const isPublished = (service: ComposeService) =>
  !isDatabase(service) && service.ports.some(({ protocol, hostIp }) => protocol === 'tcp' && !/^(127\.|::1$)/.test(hostIp ?? ''))

const isDatabase = ({ image, build, ports }: ComposeService) =>
  build === null &&
  holdsData(
    image,
    ports.map(({ target }) => target),
  )

/** Development tools, such as a database browser or a mail catcher. */
const isTool = ({ image, name }: ComposeService) =>
  /(?:^|\/)(?:adminer|phpmyadmin|pgadmin4?|pgweb|mongo-express|redis-commander|redisinsight|mailhog|mailpit|maildev|mailcatcher|mailtrap)(?:[:@]|$)/.test(
    image ?? name,
  )

/** The build settings, with the Dockerfile relative to the context, as in Compose. */
function buildOf({ build }: ComposeService): Service['build'] {
  if (!build) return null
  const { context, dockerfile, dockerfileInline, target, args } = build
  const path = dockerfile && posix.relative(context, dockerfile)
  return { context, dockerfile: path, ...(dockerfileInline ? { dockerfileInline } : {}), target, args }
}

/** TCP ports in order of preference for requests: port 80 first, ports of other protocols last. */
function portsOf({ ports, expose }: ComposeService): number[] {
  const targets = [...ports, ...expose].filter((port) => port.protocol === 'tcp').map((port) => port.target)
  const rank = (port: number) => (port === 80 ? 0 : otherPorts.has(port) ? 2 : 1)
  return [...new Set(targets)].sort((left, right) => rank(left) - rank(right))
}
const otherPorts = new Set([22, 25, 53, 443, 8443])

function commandWords(command: ComposeCommand | null, refuse: (message: string) => void): string[] | null {
  if (command === null) return null
  if (command.kind === 'exec') return command.argv
  const split = splitWords(command.line)
  if (split === null) refuse('a quote is not closed')
  return split
}

function withinLimits(value: number | null, minimum: number, maximum: number, refuse: (message: string) => void): number | null {
  if (value === null || (value >= minimum && value <= maximum)) return value
  refuse(`${value} is out of bounds: ${minimum} to ${maximum}`)
  return null
}
