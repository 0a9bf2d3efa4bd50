import { posix } from 'node:path'
import type { Service } from '@berth/contract'
import { limits } from '@berth/contract/limits'
import { holdsData } from '../exposed-service.ts'
import { splitWords } from './command-words.ts'
import { containerOf } from './container-settings.ts'
import type { ComposeCommand, ComposeFile, ComposeService, Problem } from './model.ts'

/** A file's services as the create body of a project takes them; what does not fit its bounds is said. */
export function toProjectServices(file: ComposeFile): { services: Service[]; warnings: Problem[] } {
  const warnings: Problem[] = []
  const marked = serviceToMark(file.services)
  const tasks = tasksIn(file.services)
  const services = startedByDefault(file.services).map((service) => {
    const warn = (field: string, message: string) => warnings.push({ path: `services.${service.name}.${field}`, message })
    warnOfWhatIsNotFollowed(service, warn)
    return {
      name: service.name,
      image: service.image,
      build: buildOf(service),
      command: words(service.command, (message) => warn('command', message)),
      entrypoint: words(service.entrypoint, (message) => warn('entrypoint', message)),
      environment: service.environment,
      ports: portsOf(service),
      exposed: service === marked,
      ...(service !== marked && isPublished(service) ? { route: true } : {}),
      volumes: service.volumes.map(({ type, source, target, readOnly }) => ({ type, source, target, readOnly })),
      dependsOn: service.dependsOn.map((dependency) => dependency.service),
      healthcheck: service.healthcheck && { ...service.healthcheck },
      restart: restartOf(service, tasks),
      cpuCores: bounded(service.cpuCores, 0.1, limits.cpuCoresMaximum, (message) => warn('cpus', message)),
      memoryMb: bounded(service.memoryMb, 16, 65536, (message) => warn('mem_limit', message)),
      labels: service.labels,
      ...containerOf(service, warn),
    }
  })
  for (const { name, profiles } of file.services)
    if (profiles.length > 0)
      warnings.push({
        path: `services.${name}.profiles`,
        message: 'the service is left out, as Compose does unless it is asked for',
      })
  const names = new Set(services.map(({ name }) => name))
  return { services: services.map((one) => ({ ...one, dependsOn: one.dependsOn.filter((name) => names.has(name)) })), warnings }
}

/** Services that another one waits for until they have ended well. */
const tasksIn = (services: readonly ComposeService[]): ReadonlySet<string> =>
  new Set(
    services.flatMap(({ dependsOn }) =>
      dependsOn.flatMap(({ service, condition }) => (condition === 'service_completed_successfully' ? [service] : [])),
    ),
  )

/** Compose restarts nothing without a policy; `no` is written for what is known to end. */
function restartOf({ name, restart }: ComposeService, tasks: ReadonlySet<string>): string | null {
  if (!restart) return tasks.has(name) ? 'no' : null
  return restart.maxRetries === null ? restart.policy : `${restart.policy}:${restart.maxRetries}`
}

const startedByDefault = (services: readonly ComposeService[]) => services.filter(({ profiles }) => profiles.length === 0)

function warnOfWhatIsNotFollowed(service: ComposeService, warn: (field: string, message: string) => void): void {
  if ((service.replicas ?? 1) > 1) warn('deploy.replicas', 'one is run')
  if (service.build?.dockerfileInline) warn('build.dockerfile_inline', 'is not read; put it into a file')
}

/** A Compose file marks none itself: what answers on the web's own port, else what stands in front of the others. */
function serviceToMark(services: readonly ComposeService[]): ComposeService | null {
  const started = startedByDefault(services)
  const servers = started.filter((service) => !isDatabase(service))
  const published = servers.filter((service) => service.ports.some((port) => port.protocol === 'tcp'))
  const reachable = published.length > 0 ? published : servers.filter((service) => service.expose.length > 0)
  const products = reachable.filter((service) => !isTool(service))
  const candidates = products.length > 0 ? products : reachable
  const needed = new Set(started.flatMap(({ dependsOn }) => dependsOn.map(({ service }) => service)))
  const inFront = candidates.filter(({ name }) => !needed.has(name))
  const ofTheWeb = (wanted: number) => candidates.find(({ ports }) => ports.some(({ published }) => published === wanted))
  return (
    ofTheWeb(80) ??
    ofTheWeb(443) ??
    inFront.find(({ ports }) => ports.some(({ target }) => target === 80)) ??
    inFront.find(({ build }) => build) ??
    inFront[0] ??
    candidates.find(({ build }) => build) ??
    candidates[0] ??
    null
  )
}

/** For everybody: what is bound to the machine itself is not meant for others, and a database is for nobody outside. */
const isPublished = (service: ComposeService) =>
  !isDatabase(service) && service.ports.some(({ protocol, hostIp }) => protocol === 'tcp' && !/^(127\.|::1$)/.test(hostIp ?? ''))

const isDatabase = ({ image, build, ports }: ComposeService) =>
  build === null &&
  holdsData(
    image,
    ports.map(({ target }) => target),
  )

/** For whoever develops it, to look into the database or the mail: not what the project is. */
const isTool = ({ image, name }: ComposeService) =>
  /(?:^|\/)(?:adminer|phpmyadmin|pgadmin4?|pgweb|mongo-express|redis-commander|redisinsight|mailhog|mailpit|maildev|mailcatcher|mailtrap)(?:[:@]|$)/.test(
    image ?? name,
  )

/** The Dockerfile's path counts from the context, as Compose writes it. */
function buildOf({ build }: ComposeService): Service['build'] {
  if (!build) return null
  const { context, dockerfile, target, args } = build
  return { context, dockerfile: dockerfile && posix.relative(context, dockerfile), target, args }
}

/** The first one is where requests go: the web's own before any other, and those that speak something else last. */
function portsOf({ ports, expose }: ComposeService): number[] {
  const targets = [...ports, ...expose].filter((port) => port.protocol === 'tcp').map((port) => port.target)
  const turn = (port: number) => (port === 80 ? 0 : otherPorts.has(port) ? 2 : 1)
  return [...new Set(targets)].sort((left, right) => turn(left) - turn(right))
}
const otherPorts = new Set([22, 25, 53, 443, 8443])

function words(command: ComposeCommand | null, warn: (message: string) => void): string[] | null {
  if (command === null) return null
  if (command.kind === 'exec') return command.argv
  const split = splitWords(command.line)
  if (split === null) warn('a quote is not closed; it is left out')
  return split
}

function bounded(value: number | null, minimum: number, maximum: number, warn: (message: string) => void): number | null {
  if (value === null || (value >= minimum && value <= maximum)) return value
  const nearest = Math.min(Math.max(value, minimum), maximum)
  warn(`${value} is out of bounds; ${nearest} is used`)
  return nearest
}
