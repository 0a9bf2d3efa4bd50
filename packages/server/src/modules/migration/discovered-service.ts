import type { DiscoveredService } from '@berth/contract'
import type { ReadContainer, ReadImage } from '../../drivers/runtime/server/server-reader.ts'
import type { ComposeService } from '../../source/compose/index.ts'
import { type AdoptionFacts, whyNotAdoptable } from './adoptable.ts'
import { isOurs, readComposeLabels } from './compose-labels.ts'
import { driftOf } from './drift.ts'
import { ownEnv } from './own-env.ts'
import { plainRecord, plainText } from './plain-text.ts'

const mask = '••••••••'
const maxVariables = 500

export interface Facts extends AdoptionFacts {
  image: ReadImage | undefined
  /** The service in the Compose file; undefined if there is no file, or the file does not contain it. */
  inFile: ComposeService | undefined
}

/** A container as a scan shows it. */
export function discoveredService(container: ReadContainer, facts: Facts): DiscoveredService {
  const composeLabels = readComposeLabels(container)
  const reason = whyNotAdoptable(container, facts)
  return {
    name: plainText(composeLabels?.service ?? container.name),
    containerId: plainText(container.id),
    containerName: plainText(container.name),
    image: plainText(container.image),
    state: plainText(container.state),
    ports: container.ports.map(({ containerPort, hostPort, hostIp, protocol }) => ({
      containerPort,
      hostPort,
      hostIp,
      protocol,
    })),
    env: masked([...ownEnv(container, facts.image).keys()]),
    volumes: container.mounts.map(({ type, source, target, readOnly }) => ({
      type: plainText(type),
      source: source && plainText(source),
      target: plainText(target),
      readOnly,
    })),
    networks: Object.keys(container.networks).map(plainText),
    command: container.command?.map(plainText) ?? null,
    restart: plainText(container.restart),
    labels: plainRecord(container.labels),
    dependsOn: dependenciesOf(composeLabels?.dependsOn ?? [], facts.inFile).map(plainText),
    source: composeLabels ? 'compose' : 'container',
    managed: isOurs(container),
    adoptable: reason === null,
    ...(reason === null ? {} : { reason }),
    drift: facts.inFile ? driftOf(facts.inFile, container, facts.image) : [],
  }
}

/** A service of a file that has no container. */
export function serviceWithoutContainer(service: ComposeService): DiscoveredService {
  const isExcluded = service.profiles.length > 0
  return {
    name: service.name,
    containerId: null,
    containerName: null,
    image: service.image,
    state: isExcluded ? 'not_started' : 'missing',
    ports: service.ports.map(({ target, published, hostIp, protocol }) => ({
      containerPort: target,
      hostPort: published,
      hostIp,
      protocol,
    })),
    env: masked(Object.keys(service.environment)),
    volumes: service.volumes.map(({ type, source, target, readOnly }) => ({
      type,
      source: type === 'bind' && source !== null ? `/${source}` : source,
      target,
      readOnly,
    })),
    networks: service.networks.map(({ name }) => name),
    command: null,
    restart: service.restart?.policy ?? null,
    labels: plainRecord(service.labels),
    dependsOn: service.dependsOn.map((one) => one.service),
    source: 'compose',
    managed: false,
    adoptable: false,
    reason: isExcluded
      ? `It has the profile ${service.profiles.join(', ')} and is not started. Start it, then scan again`
      : 'It has no container. Start it with docker compose up, then scan again',
    drift: [],
  }
}

/** Services that this one depends on, from its labels and its file. */
export const dependenciesOf = (labelled: string[], inFile: ComposeService | undefined): string[] => [
  ...new Set([...labelled, ...(inFile?.dependsOn.map((one) => one.service) ?? [])]),
]

const masked = (keys: readonly string[]): Record<string, string> =>
  Object.fromEntries(keys.slice(0, maxVariables).map((key) => [plainText(key), mask]))
