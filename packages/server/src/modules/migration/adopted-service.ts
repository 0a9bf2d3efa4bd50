import type { Service } from '@berth/contract'
import { limits } from '@berth/contract/limits'
import { familiarName } from '../../drivers/registry/image-name.ts'
import type { ReadContainer, ReadHealthCheck, ReadImage } from '../../drivers/runtime/server/server-reader.ts'
import { type AdoptedVolumes, adoptMounts } from './adopted-mounts.ts'
import { type AdoptedVariables, adoptVariables } from './adopted-variables.ts'
import { plainText } from './plain-text.ts'
import type { NamedService } from './service-names.ts'

export interface AdoptedService {
  service: Service
  variables: AdoptedVariables['variables']
  warnings: string[]
}

/** Facts about the whole adoption, while one of its services is built. */
export interface AdoptionParts {
  image: ReadImage | undefined
  /** Project names of the services that this one depends on, as far as they are adopted too. */
  dependsOn: string[]
  volumes: AdoptedVolumes
  /** Names of the project's variables. */
  variableNames: Set<string>
  /** Networks of the server without internet access. */
  internalNetworks: ReadonlySet<string>
}

/** A container as a service of a project: its own settings, without those of its image. */
export function adoptService(named: NamedService, parts: AdoptionParts): AdoptedService {
  const { image, dependsOn, volumes, variableNames, internalNetworks } = parts
  const { container, name, replicas } = named
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(`${name}: ${message}`)
  const { environment, variables } = adoptVariables(name, { container, image, variableNames }, warn)
  const service: Service = {
    name,
    image: imageOf(container, image, warn),
    build: null,
    command: sameAs(container.command, image?.command) ? null : container.command,
    entrypoint: sameAs(container.entrypoint, image?.entrypoint) ? null : container.entrypoint,
    environment,
    ports: portsOf(container),
    exposed: container.ports.some(isWebPort),
    volumes: adoptMounts(container, volumes, warn),
    dependsOn,
    healthcheck: healthCheckOf(container.healthCheck),
    // The engine's value for no policy: it does not mean that the container is a one-off task.
    restart: container.restart === 'no' ? null : container.restart,
    cpuCores: clampLimit(container.limits.nanoCpus / 1e9, 0.1, limits.cpuCoresMaximum),
    memoryMb: clampLimit(Math.round(container.limits.memoryBytes / 1024 ** 2), 16, 65536),
  }
  if (replicas.length > 0) warn(`it had ${replicas.length + 1} replicas; the project runs one`)
  warnOfPorts(container, warn)
  warnUnsupported(container, image, warn)
  warnOfNetworks(named, internalNetworks, warn)
  return { service, variables, warnings }
}

type Port = ReadContainer['ports'][number]
const isWebPort = ({ hostPort, protocol }: Port) => protocol === 'tcp' && (hostPort === 80 || hostPort === 443)

/** The image's name; where the tag now points to another image, the id of the running image. */
function imageOf(
  { image, imageId }: ReadContainer,
  imageDetails: ReadImage | undefined,
  warn: (message: string) => void,
): string {
  if (
    !imageDetails ||
    imageDetails.tags.map(familiarName).includes(familiarName(image)) ||
    image === imageId ||
    image.includes('@')
  )
    return image
  warn(`the name ${plainText(image)} now refers to another image on the server; the running image is kept by its id`)
  return imageId
}

const sameAs = (one: string[] | null, other: string[] | null | undefined) =>
  JSON.stringify(one ?? []) === JSON.stringify(other ?? [])
const clampLimit = (value: number, min: number, limit: number) => (value > 0 ? Math.min(Math.max(value, min), limit) : null)

/** Published ports come first: requests go to the first port. */
const portsOf = ({ ports }: ReadContainer): number[] => {
  const tcp = ports
    .filter(({ protocol }) => protocol === 'tcp')
    .sort((one, other) => Number(one.hostPort === null) - Number(other.hostPort === null))
  return [...new Set(tcp.map(({ containerPort }) => containerPort))].slice(0, 50)
}

/** The health check in the shape that the Compose reader returns. */
function healthCheckOf(check: ReadHealthCheck | null): Service['healthcheck'] {
  if (!check) return null
  const { intervalSeconds, timeoutSeconds, retries, startPeriodSeconds } = check
  return { test: testOf(check.test), intervalSeconds, timeoutSeconds, retries, startPeriodSeconds, startIntervalSeconds: null }
}

function testOf([kind, ...words]: string[]) {
  if (kind === 'NONE') return { kind: 'none' }
  if (kind === 'CMD') return { kind: 'exec', argv: words }
  return kind === 'CMD-SHELL' ? { kind: 'exec', argv: ['/bin/sh', '-c', words.join(' ')] } : null
}

function warnOfPorts({ ports }: ReadContainer, warn: (message: string) => void): void {
  for (const port of ports) {
    const { hostPort, containerPort, protocol } = port
    if (hostPort !== null && !isWebPort(port))
      warn(
        `port ${hostPort} of the server (to ${containerPort}/${plainText(protocol)}) is not published again: ${protocol === 'tcp' ? 'requests go through the edge' : 'only TCP is routed'}`,
      )
  }
}

function warnUnsupported(container: ReadContainer, image: ReadImage | undefined, warn: (message: string) => void): void {
  const { rights, user, workingDir, stopSignal, stopGraceSeconds, unusual, limits: containerLimits } = container
  if (rights.capAdd.length > 0) warn(`the capabilities ${rights.capAdd.map(plainText).join(', ')} are not granted`)
  if (user !== (image?.user ?? '')) warn(`it ran as user ${plainText(user) || 'root'}; it will run as the user of its image`)
  if (image && workingDir !== image.workingDir)
    warn(`its working directory was ${plainText(workingDir)}; it will use the one of its image`)
  if (rights.readOnly) warn('its file system was read-only; it will be writable')
  if (containerLimits.memoryBytes === 0) warn('it had no memory limit; it gets the limit of the project')
  if (image && stopSignal !== image.stopSignal)
    warn(`its stop signal was ${plainText(stopSignal)}; it will use the one of its image`)
  if (stopGraceSeconds !== null) warn(`its stop timeout was ${stopGraceSeconds} s; it will be 10 s`)
  if (containerLimits.pids > 0) warn(`its process limit was ${containerLimits.pids}; it gets the limit of every project`)
  if (unusual.length > 0) warn(`these settings are not adopted: ${unusual.join(', ')}`)
}

/** Warns of names and limits of the networks that the project will not have: its services reach each other by service name only. */
function warnOfNetworks(
  { container, labels, name }: NamedService,
  internalNetworks: ReadonlySet<string>,
  warn: (message: string) => void,
): void {
  const networks = Object.keys(container.networks)
  if (networks.length > 1) warn('its networks are merged into one: all services of the project can reach each other')
  if (networks.length > 0 && networks.every((network) => internalNetworks.has(network)))
    warn('its network was internal; it will have internet access')
  // Compose names its containers so: such a name is not an alias that a user chose.
  const isNamedByCompose =
    labels && container.name.replaceAll('_', '-') === `${labels.project}-${labels.service}-${labels.number}`.replaceAll('_', '-')
  const aliases = new Set([...(isNamedByCompose ? [] : [container.name]), ...Object.values(container.networks).flat()])
  const droppedNames = [...aliases].filter((one) => one !== name && one !== '' && !container.id.startsWith(one))
  if (droppedNames.length > 0)
    warn(
      `its network aliases ${droppedNames.slice(0, 5).map(plainText).join(', ')} are not adopted; other services reach it as ${name} only`,
    )
}
