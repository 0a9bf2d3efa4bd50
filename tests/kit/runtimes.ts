import { join } from 'node:path'
import { describe } from 'vitest'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { readIdentity } from '../../packages/server/src/drivers/runtime/docker/identity.ts'
import { removeEverythingOf } from '../../packages/server/src/drivers/runtime/docker/remove-everything.ts'
import { describeNeeding, lookUp, partOf } from './machine.ts'

export type RuntimeKind = 'process' | 'docker'

/**
 * Runs a suite on every runtime: vitest.config.ts runs the file once for each, so that both run in parallel. If the machine has no
 * Docker, that half is skipped and its title contains the reason.
 */
export function describeOnRuntimes(title: string, body: (runtime: RuntimeKind) => void): void {
  if (isAsked('process')) describe(`${title}, projects as process`, () => body('process'))
  describeOnDocker(title, () => body('docker'))
}

export function describeOnDocker(title: string, body: () => void): void {
  if (isAsked('docker')) describeNeeding(['docker', 'nodeImage'], `${title}, projects as docker`, body)
}

const isAsked = (runtime: RuntimeKind) => (process.env.BERTH_TEST_RUNTIME ?? runtime) === runtime

/** Settings of an instance whose projects run on that runtime of the test machine. */
export function settingsFor(runtime: RuntimeKind): NodeJS.ProcessEnv {
  if (runtime === 'process') return { BERTH_RUNTIME: runtime }
  const python = lookUp('pythonImage')
  return {
    BERTH_RUNTIME: runtime,
    BERTH_DOCKER_SOCKET: partOf('docker'),
    BERTH_BASE_IMAGE_NODE: partOf('nodeImage'),
    BERTH_BASE_IMAGE_STATIC: partOf('nodeImage'),
    ...('value' in python ? { BERTH_BASE_IMAGE_PYTHON: python.value } : {}),
  }
}

const identityIn = (dataFolder: string) => readIdentity(join(dataFolder, 'docker')).instance

/** Removes an instance's objects from the engine; call it while its data folder still exists. */
export function dockerRemover(dataFolder: string): () => Promise<void> {
  const identity = identityIn(dataFolder)
  return () => removeEverythingOf(identity, partOf('docker'))
}

const serverIdentityIn = (dataFolder: string, serverId: string) => readIdentity(join(dataFolder, 'servers', serverId)).instance

/** Removes the objects of the instance on a server, whose engine is that of the test machine. */
export function serverRemover(dataFolder: string, serverId: string): () => Promise<void> {
  const identity = serverIdentityIn(dataFolder, serverId)
  return () => removeEverythingOf(identity, partOf('docker'))
}

/** Everything on the engine with an instance's label, each as its kind and owner; sorted. */
export const listOnDocker = (dataFolder: string) => listMarked(identityIn(dataFolder))
export const listOnServer = (dataFolder: string, serverId: string) => listMarked(serverIdentityIn(dataFolder, serverId))

/** The subnets of an instance's networks, such as 10.213.0.0/28. */
export async function subnetsOnDocker(dataFolder: string): Promise<string[]> {
  const filters = { label: [`berth.instance=${identityIn(dataFolder)}`] }
  const networks = await openEngine(partOf('docker')).listNetworks({ filters })
  return networks.flatMap(({ IPAM }) => (IPAM?.Config ?? []).flatMap(({ Subnet }) => Subnet ?? []))
}

/**
 * Removes a project's network as an operator would by hand: every container of the project is disconnected first. The network stays
 * if containers of other projects use it.
 */
export async function removeNetworkOf(projectId: string): Promise<void> {
  const engine = openEngine(partOf('docker'))
  const filters = { label: [`berth.project=${projectId}`, 'berth.kind=instance'] }
  for (const { Id, HostConfig } of await engine.listContainers({ filters })) {
    const network = engine.getNetwork(HostConfig.NetworkMode ?? '')
    await network.disconnect({ Container: Id, Force: true })
    await network.remove().catch(() => undefined)
  }
}

/** Every image and container on the engine, labelled or not, with the text in its environment, including build stages and steps. */
export async function listHolding(text: string): Promise<string[]> {
  const engine = openEngine(partOf('docker'))
  const [images, containers] = await Promise.all([engine.listImages({ all: true }), engine.listContainers({ all: true })])
  const all = [
    ...images.map(({ Id }) => ({ line: `image ${Id}`, inspect: () => engine.getImage(Id).inspect() })),
    ...containers.map(({ Id }) => ({ line: `container ${Id}`, inspect: () => engine.getContainer(Id).inspect() })),
  ]
  const found: string[] = []
  for (const { line, inspect } of all) {
    // Objects of other tests may be removed at any time.
    const { Config } = (await inspect().catch(() => null)) ?? {}
    if (Config?.Env?.some((variable) => variable.includes(text))) found.push(line)
  }
  return found
}

async function listMarked(identity: string): Promise<string[]> {
  const engine = openEngine(partOf('docker'))
  const filters = { label: [`berth.instance=${identity}`] }
  const [containers, images, networks, { Volumes }] = await Promise.all([
    engine.listContainers({ all: true, filters }),
    engine.listImages({ filters }),
    engine.listNetworks({ filters }),
    engine.listVolumes({ filters: JSON.stringify(filters) } as object),
  ])
  const label = (labels: Record<string, string> | undefined, name: string) => labels?.[`berth.${name}`] ?? ''
  return [
    ...containers.map(({ Labels, State }) => `container ${label(Labels, 'kind')} ${label(Labels, 'deployment')} ${State}`),
    ...images.map(({ Labels, RepoTags }) => {
      const isNamed = RepoTags?.some((name) => name !== '<none>:<none>')
      return `image ${label(Labels, 'kind')} ${label(Labels, 'deployment')}${isNamed ? '' : ' without a name'}`
    }),
    ...networks.map(({ Labels }) => `network ${label(Labels, 'network')}`),
    ...(Volumes ?? []).map(({ Labels }) => `volume ${label(Labels, 'id')}`),
  ].sort()
}
