import type { Service } from '@berth/contract'
import { limits } from '@berth/contract/limits'
import type { AdoptedVolume } from '../../drivers/runtime/runtime.ts'
import type { ReadContainer, ReadHealthCheck, ReadImage } from '../../drivers/runtime/server/server-reader.ts'
import { ownEnv } from './own-env.ts'
import { plainText } from './plain-text.ts'
import type { NamedService } from './service-names.ts'

export interface AdoptedService {
  service: Service
  /** Variables of the project, all of them secret. */
  variables: { key: string; value: string }[]
  /** By the name under which the service mounts it. */
  volumes: Map<string, AdoptedVolume>
  warnings: string[]
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

/** A container as a service of a project: what it was given itself, without what its image brings along. */
export function adoptService(
  { container, name, marks }: NamedService,
  image: ReadImage | undefined,
  adopted: ReadonlySet<string>,
): AdoptedService {
  const warnings: string[] = []
  const warn = (words: string) => warnings.push(`${name}: ${words}`)
  const { environment, variables } = variablesOf(container, image, name, warn)
  const mounts = mountsOf(container, warn)
  const published = container.ports.filter(({ hostPort }) => hostPort !== null)
  warnOfWhatIsNotFollowed(container, warn)
  const service: Service = {
    name,
    image: imageOf(container, image, warn),
    build: null,
    command: sameAs(container.command, image?.command) ? null : container.command,
    entrypoint: sameAs(container.entrypoint, image?.entrypoint) ? null : container.entrypoint,
    environment,
    ports: portsOf(container),
    exposed: published.some(({ hostPort, protocol }) => protocol === 'tcp' && (hostPort === 80 || hostPort === 443)),
    volumes: mounts.map(({ source, target, readOnly }) => ({ type: 'volume' as const, source, target, readOnly })),
    dependsOn: (marks?.dependsOn ?? []).filter((other) => adopted.has(other)),
    healthcheck: healthCheckOf(container.healthCheck),
    restart: container.restart,
    cpuCores: bounded(container.limits.nanoCpus / 1e9, 0.1, limits.cpuCoresMaximum),
    memoryMb: bounded(Math.round(container.limits.memoryBytes / 1024 ** 2), 16, 65536),
  }
  for (const { hostPort, containerPort, protocol } of published)
    if (hostPort !== 80 && hostPort !== 443)
      warn(
        `port ${hostPort} of the server (to ${containerPort}/${protocol}) is not published again: requests come through the edge`,
      )
  return { service, variables, volumes: new Map(mounts.map(({ source, what }) => [source, what])), warnings }
}

/** Each value is a variable of the project that the service names; two services may have different ones under one name. */
function variablesOf(container: ReadContainer, image: ReadImage | undefined, name: string, warn: (words: string) => void) {
  const environment: Record<string, string> = {}
  const variables: AdoptedService['variables'] = []
  const prefix = name
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_')
  for (const [key, value] of ownEnv(container, image)) {
    const isUsable = variableName.test(key) && key.length + prefix.length < 255 && Buffer.byteLength(value) <= 64 * 1024
    if (!isUsable || value.includes('\0'))
      warn(`the variable ${plainText(key).slice(0, 80)} cannot be kept: its name or its value is out of bounds`)
    else {
      const stored = `${prefix}_${key}`
      environment[key] = `\${${stored}}`
      variables.push({ key: stored, value })
    }
  }
  return { environment, variables }
}

/** A volume that Docker named by chance is adopted like any other: it is where the bytes are. */
function mountsOf({ mounts }: ReadContainer, warn: (words: string) => void) {
  return mounts.flatMap(({ type, source, target, readOnly }) => {
    if (type === 'tmpfs' || !source) {
      warn(`what is mounted at ${plainText(target)} is kept in memory and is not adopted`)
      return []
    }
    if (type === 'volume') return [{ source: volumeName(source), target, readOnly, what: { volume: source } as AdoptedVolume }]
    if (type !== 'bind') {
      warn(`the mount of type ${plainText(type)} at ${plainText(target)} is not adopted`)
      return []
    }
    warn(`the folder ${plainText(source)} of the server is mounted at ${plainText(target)} as it is`)
    return [
      { source: volumeName(`folder${source.replaceAll('/', '-')}`), target, readOnly, what: { path: source } as AdoptedVolume },
    ]
  })
}

const volumeName = (name: string) =>
  name
    .replace(/[^a-zA-Z0-9_.-]+/g, '-')
    .replace(/^[^a-zA-Z0-9]+/, '')
    .slice(0, 63) || 'data'

/** The name that it was asked for by; where that means another image by now, the very image that runs. */
function imageOf({ image, imageId }: ReadContainer, found: ReadImage | undefined, warn: (words: string) => void): string {
  if (!found || found.tags.includes(withTag(image)) || image === imageId || image.includes('@')) return image.slice(0, 300)
  warn(`the name ${plainText(image)} means another image on the server by now; the one that runs is kept by its id`)
  return imageId
}

const withTag = (image: string) => (/:[^/]*$/.test(image) ? image : `${image}:latest`)
const sameAs = (one: string[] | null, other: string[] | null | undefined) =>
  JSON.stringify(one ?? []) === JSON.stringify(other ?? [])
const bounded = (value: number, least: number, most: number) => (value > 0 ? Math.min(Math.max(value, least), most) : null)

const portsOf = ({ ports }: ReadContainer): number[] => {
  const tcp = ports
    .filter(({ protocol }) => protocol === 'tcp')
    .sort((one, other) => Number(one.hostPort === null) - Number(other.hostPort === null))
  return [...new Set(tcp.map(({ containerPort }) => containerPort))].slice(0, 50)
}

/** In the shape in which the Compose reader hands one over. */
function healthCheckOf(check: ReadHealthCheck | null): Service['healthcheck'] {
  if (!check) return null
  const [kind, ...words] = check.test
  const test =
    kind === 'NONE'
      ? { kind: 'none' }
      : kind === 'CMD'
        ? { kind: 'exec', argv: words }
        : kind === 'CMD-SHELL'
          ? { kind: 'exec', argv: ['/bin/sh', '-c', words.join(' ')] }
          : null
  const { intervalSeconds, timeoutSeconds, retries, startPeriodSeconds } = check
  return { test, intervalSeconds, timeoutSeconds, retries, startPeriodSeconds, startIntervalSeconds: null }
}

function warnOfWhatIsNotFollowed({ rights, user, networks, ports }: ReadContainer, warn: (words: string) => void): void {
  if (rights.capAdd.length > 0) warn(`the rights ${rights.capAdd.map(plainText).join(', ')} are not given`)
  if (user) warn(`it ran as the user ${plainText(user)}; it runs as its image says`)
  if (rights.readOnly) warn('its file system was read-only; it is not here')
  if (Object.keys(networks).length > 1) warn('of several networks one is made: all services of the project find each other')
  if (ports.some(({ hostPort, protocol }) => hostPort !== null && protocol !== 'tcp')) warn('only TCP is routed')
}
