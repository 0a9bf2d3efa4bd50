import type { ComposeProject, DiscoveredService, Stack } from '@berth/contract'
import type { ReadContainer } from '../../drivers/runtime/server/server-reader.ts'
import { locationsOf } from './adoptable.ts'
import { readComposeLabels } from './compose-labels.ts'
import type { DiscoveredStack, Discovery } from './discover.ts'
import { discoveredService, serviceWithoutContainer } from './discovered-service.ts'
import { plainRecord, plainText } from './plain-text.ts'

/** The response of a scan. `adoptedBy` maps a container id to the project of this instance that adopted it. */
export function stackOf(
  serverId: string,
  { docker, stacks, handRun }: Discovery,
  adoptedBy: ReadonlyMap<string, string>,
  isOperator = true,
): Stack {
  const paths = locationsOf(docker)
  const show = (container: ReadContainer, stack?: DiscoveredStack) =>
    discoveredService(container, {
      image: docker.images.get(container.imageId),
      inFile: stack?.files.file?.services.find(({ name }) => name === readComposeLabels(container)?.service),
      adoptedBy: adoptedBy.get(container.id),
      paths,
      isOperator,
    })
  const composeProjects = [...stacks].map(([name, stack]) => projectOf(name, stack, (container) => show(container, stack)))
  const containers = handRun.map((container) => show(container))
  const services = composeProjects.flatMap((project) => project.services)
  const usersOfVolume = usersBy(docker.containers, ({ mounts }) =>
    mounts.flatMap(({ type, source }) => (type === 'volume' && source !== null ? [source] : [])),
  )
  const usersOfNetwork = usersBy(docker.containers, ({ networks }) => Object.keys(networks))
  return {
    serverId,
    docker: { version: plainText(docker.version) },
    composeProjects,
    containers,
    volumes: docker.volumes.map(({ name, driver, labels }) => ({
      name: plainText(name),
      driver: plainText(driver),
      labels: plainRecord(labels),
      usedBy: usersOfVolume.get(name) ?? [],
    })),
    networks: docker.networks.map(({ name, driver }) => ({
      name: plainText(name),
      driver: plainText(driver),
      usedBy: usersOfNetwork.get(name) ?? [],
    })),
    warnings: [...docker.warnings, ...[...stacks.values()].flatMap(({ files }) => files.warnings)].map(plainText),
    summary: {
      composeProjects: composeProjects.length,
      services: services.length,
      containers: containers.length,
      volumes: docker.volumes.length,
      networks: docker.networks.length,
      adoptable: [...services, ...containers].filter(({ adoptable }) => adoptable).length,
    },
  }
}

/** Container names by the volume or network that they use. An index, since a server may have thousands of both. */
function usersBy(containers: readonly ReadContainer[], uses: (container: ReadContainer) => string[]): Map<string, string[]> {
  const users = new Map<string, string[]>()
  for (const container of containers) {
    for (const used of new Set(uses(container))) {
      const known = users.get(used)
      if (known) known.push(plainText(container.name))
      else users.set(used, [plainText(container.name)])
    }
  }
  return users
}

function projectOf(
  name: string,
  { labels, containers, files }: DiscoveredStack,
  show: (one: ReadContainer) => DiscoveredService,
): ComposeProject {
  const running = containers.map(show)
  const known = new Set(running.map((service) => service.name))
  const others = (files.file?.services ?? []).filter((service) => !known.has(service.name)).map(serviceWithoutContainer)
  const services = [...running, ...others]
  const hasDrift =
    services.some(({ drift, state }) => drift.length > 0 || state === 'missing') || isGone(running, files.file?.services)
  return {
    name: plainText(name),
    workingDir: labels.workingDir && plainText(labels.workingDir),
    configFiles: labels.configFiles.map(plainText),
    fileState: files.state === 'read' && hasDrift ? 'drifted' : files.state,
    services,
  }
}

/** Whether a container's service is no longer in the file. */
const isGone = (running: DiscoveredService[], inFile: readonly { name: string }[] | undefined): boolean =>
  inFile !== undefined && running.some(({ name }) => !inFile.some((service) => service.name === name))
