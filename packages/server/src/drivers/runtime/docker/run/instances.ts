import type { Container, ContainerInspectInfo } from 'dockerode'
import { endReason, type InstanceEnd } from '../../instance-end.ts'
import { isBelow, normalMountPath } from '../../mount-path.ts'
import type { RestartPolicy } from '../../restart-policy.ts'
import type { Instance, StartRequest } from '../../runtime.ts'
import { ArtifactMissing, StartFailed } from '../../runtime-errors.ts'
import { callEngine, callEngineOrMissing, type Engine, engineMessage, isRemote, listenerOf, statusOf } from '../engine.ts'
import { ensureImage } from '../fetch-image.ts'
import { BuiltImageMissing, ImageMissing, type ImageParts } from '../images.ts'
import { Labels, labelIn, ownerIn } from '../labels.ts'
import { NoFreeSubnet } from '../subnet-allocator.ts'
import { containerName, containerSettings } from './container-settings.ts'
import type { DiskFullMarkers } from './disk-full-markers.ts'
import type { EgressFilter } from './egress-filter.ts'
import { engineHealth } from './engine-health.ts'
import { freeHostPort } from './free-port.ts'
import { archiveOf } from './inline-files.ts'
import { isOwnNetwork, type Networks, networkSpecsOf } from './networks.ts'
import { detectRootMapping, isRoot, isRootMapped, refuseRoot } from './root-user.ts'
import { startErrorMessage } from './start-error-message.ts'
import { putArchive } from './volume-helper.ts'
import type { Volumes } from './volumes.ts'

export interface InstanceParts extends ImageParts {
  networks: Networks
  volumes: Volumes
  /** Whether the operator forbids containers that run as root. */
  forbidsRoot: boolean
  egressFilter?: EgressFilter | null
  diskFullMarkers: DiskFullMarkers
}

/** Dependencies for reading the state of an instance. */
export interface InspectParts {
  engine: Engine
  labels: Labels
  diskFullMarkers: DiskFullMarkers
}

const startTimeoutMs = 120_000
const maxPortTries = 10

/** Starts the container of an instance, or reuses one that an earlier call created. */
export async function startInstance(request: StartRequest, parts: InstanceParts, abort: AbortSignal): Promise<Instance> {
  await detectRootMapping(parts.engine)
  const existing = await inspectInstance(request.instanceId, parts)
  try {
    if ((existing?.state === 'running' || existing?.state === 'restarting') && !existing.networkLost) {
      await joinNetworks(request, parts)
      return existing
    }
    parts.diskFullMarkers.delete(request.instanceId)
    if (existing?.state === 'exited') await parts.networks.joinLinks(containerName(request.instanceId), request.links ?? [])
    if (existing?.state === 'exited' && (await startExisting(request.instanceId, parts, abort)))
      return (await inspectInstance(request.instanceId, parts)) ?? existing
    if (existing) await removeContainer(request.instanceId, parts.engine)
    return await startNew(request, parts, abort)
  } catch (error) {
    abort.throwIfAborted()
    throw asStartFailure(error)
  }
}

/** Turns errors of the engine and about images into failed starts. */
export function asStartFailure(error: unknown): unknown {
  if (error instanceof BuiltImageMissing) return new ArtifactMissing(error.message)
  if (error instanceof ImageMissing || error instanceof NoFreeSubnet) return new StartFailed(error.message)
  if (statusOf(error) !== undefined) return new StartFailed(startErrorMessage(engineMessage(error)))
  return error
}

/** Joins a running container to the requested networks. It is a guest on those that it was not created for. */
async function joinNetworks(
  { instanceId, network, owner, links = [] }: StartRequest,
  { networks }: InstanceParts,
): Promise<void> {
  const container = containerName(instanceId)
  await networks.joinLinks(container, links)
  if (!network) return
  const joined = networkSpecsOf(network)
  await networks.join(container, { ...owner, name: network.name }, joined)
  for (const other of network.also ?? []) await networks.joinAsGuest(container, other, joined)
}

async function startNew(request: StartRequest, parts: InstanceParts, abort: AbortSignal): Promise<Instance> {
  const { artifact, owner, service, instanceId, network } = request
  if (artifact.kind !== 'image')
    throw new StartFailed('The artifact is not an image and cannot run in Docker. Redeploy the project.')
  const imageUser = { projectId: owner.projectId, logins: request.registryLogins ?? [], isGranted: true }
  const image = await ensureImage(artifact.reference, parts, imageUser, () => undefined, abort)
  const info = await callEngine(() => parts.engine.getImage(image).inspect(), { abort })
  refuseOtherPlatform(request, info)
  const user = unprivilegedUserId(info.Config?.User)
  const volumeNames = new Map<string, string>()
  // The engine would create a missing volume.
  for (const { id, name } of request.volumes) volumeNames.set(id, await parts.volumes.find({ id, name }))
  const joined = network ? networkSpecsOf(network) : []
  // The engine publishes no ports on internal networks. The machine reaches the container by its address.
  const isInternalOnly = network !== null && joined.every(({ internal }) => internal)
  const internalPort = isInternalOnly && request.port !== null ? { inside: String(request.port) } : {}
  const disk = String(request.resources.diskMb)
  const extraLabels = { id: instanceId, disk, ...(network ? { network: network.name } : {}), ...internalPort }
  const resources = { image, volumeNames, isUnprivileged: parts.labels.isThisBerth(info.Config?.Labels) && user !== null }
  for (let tries = 1; ; tries++) {
    try {
      // Created under the lock, so that no other start removes the network or takes the port. Started outside of it: that is slow.
      const container = await parts.networks.withNetworks(
        network && { ...owner, name: network.name },
        joined,
        async (networks) => {
          const hostPort =
            request.port === null || isInternalOnly
              ? null
              : await freeHostPort(await reservedPorts(parts, abort), isRemote(parts.engine))
          const port = hostPort === null ? {} : { port: String(hostPort) }
          const labels = parts.labels.ofOwner('instance', owner, service, { ...extraLabels, ...port })
          const created = await create(request, { ...resources, labels, hostPort, networks }, parts, abort)
          await parts.networks.connectAll(created.id, networks.slice(1))
          await parts.networks.connectLinks(created.id, request.links ?? [])
          return created
        },
      )
      await startContainer(container, request, { user, volumeNames }, parts, abort)
      break
    } catch (error) {
      await removeContainer(instanceId, parts.engine).catch(() => undefined)
      if (tries < maxPortTries && isPortInUse(error)) continue
      if (network) await parts.networks.removeUnused(network.name).catch(() => undefined)
      throw error
    }
  }
  for (const other of network?.also ?? []) await parts.networks.joinAsGuest(containerName(instanceId), other, joined)
  const instance = await inspectInstance(instanceId, parts)
  if (!instance) throw new StartFailed('The container exited immediately after its start')
  return instance
}

/** Ports of all existing containers. A crashed container gets its port back on restart, so it is reserved until removal. */
async function reservedPorts({ engine }: InstanceParts, abort: AbortSignal): Promise<ReadonlySet<number>> {
  const filters = Labels.filterAnyBerth('port')
  const rows = await callEngine((abortSignal) => engine.listContainers({ all: true, filters, abortSignal }), { abort })
  return new Set(rows.map(({ Labels: containerLabels }) => Number(labelIn(containerLabels, 'port'))))
}

function create(
  request: StartRequest,
  resources: Parameters<typeof containerSettings>[1],
  { engine }: InstanceParts,
  abort: AbortSignal,
): Promise<Container> {
  const settings = containerSettings(request, resources)
  return callEngine((abortSignal) => engine.createContainer({ ...settings, abortSignal }), { abort })
}

async function startContainer(
  container: Container,
  request: StartRequest,
  { user, volumeNames }: { user: number | null; volumeNames: ReadonlyMap<string, string> },
  { engine, volumes, forbidsRoot }: InstanceParts,
  abort: AbortSignal,
): Promise<void> {
  if (forbidsRoot) await refuseRoot(container, engine, abort)
  if (user !== null)
    for (const { id, mountPath, readOnly } of request.volumes) {
      const name = volumeNames.get(id)
      // Adopted data keeps its owner.
      if (readOnly || !name?.startsWith(id)) continue
      const inner = mountPointsBelow(mountPath, request)
      if (inner.length > 0) await volumes.changeOwnerOfOuter(name, inner, user, abort)
      else await volumes.changeOwner(container, mountPath, user, abort)
    }
  if (request.files?.length) await putArchive(container, '/', archiveOf(request.files), abort)
  await callEngine((abortSignal) => container.start({ abortSignal }), { abort, timeoutMs: startTimeoutMs })
}

/** Mount points of other volumes below a mount path, relative to it. */
export function mountPointsBelow(mountPath: string, { volumes }: StartRequest): string[] {
  const outer = normalMountPath(mountPath)
  return volumes.flatMap((volume) => {
    const path = normalMountPath(volume.mountPath)
    return path !== outer && isBelow([outer], path) ? [path.slice(outer.length + 1)] : []
  })
}

/** Refuses an image of another architecture, which the engine would run slowly or not at all, without an error. */
export function refuseOtherPlatform(
  { container }: StartRequest,
  { Os, Architecture }: { Os: string; Architecture: string },
): void {
  const wanted = container?.platform
  if (!wanted) return
  const [os = '', architecture = ''] = wanted.split('/')
  if (os === Os && (architectures[architecture] ?? architecture) === Architecture) return
  throw new StartFailed(`The service requires the platform ${wanted}, but its image is for ${Os}/${Architecture}`)
}

const architectures: Record<string, string> = { x86_64: 'amd64', aarch64: 'arm64' }

/** Numeric user id other than root. Null if the user is root, a name, or absent. */
export function unprivilegedUserId(user: string | undefined): number | null {
  const uid = /^(\d+)(:\d+)?$/.exec(user ?? '')?.[1]
  return uid === undefined || Number(uid) === 0 ? null : Number(uid)
}

const isPortInUse = (error: unknown) => /port is already allocated|address already in use/i.test(engineMessage(error))

async function startExisting(instanceId: string, { engine }: InstanceParts, abort: AbortSignal): Promise<boolean> {
  try {
    const container = engine.getContainer(containerName(instanceId))
    await callEngine((abortSignal) => container.start({ abortSignal }), { abort, timeoutMs: startTimeoutMs })
    return true
  } catch (error) {
    if (statusOf(error) === undefined) throw error
    return false
  }
}

/** Sets the policy that the engine applies at the next end. Ignores a removed container. */
export async function setRestart(
  instanceId: string,
  { name, maxRetries }: RestartPolicy,
  engine: Engine,
  abort: AbortSignal,
): Promise<void> {
  const RestartPolicy = {
    Name: name === 'always' ? 'unless-stopped' : name,
    ...(name === 'on-failure' && maxRetries != null ? { MaximumRetryCount: maxRetries } : {}),
  }
  const container = engine.getContainer(containerName(instanceId))
  await callEngineOrMissing((abortSignal) => container.update({ RestartPolicy, abortSignal }), { abort })
}

const killTimeoutMs = 20_000

/** Stops the container: SIGTERM, then SIGKILL. It is not removed, so that its output can be read. */
export async function stopInstance(
  instanceId: string,
  graceSeconds: number,
  { engine, labels }: { engine: Engine; labels: Labels },
  abort: AbortSignal,
): Promise<ContainerInspectInfo | undefined> {
  const container = engine.getContainer(containerName(instanceId))
  const found = await callEngineOrMissing((abortSignal) => container.inspect({ abortSignal }), { abort })
  if (!found || !labels.isThisBerth(found.Config.Labels)) return undefined
  // A service's own grace period applies, unless it must end at once.
  const effectiveGraceSeconds = graceSeconds === 0 ? 0 : ((found.Config as { StopTimeout?: number }).StopTimeout ?? graceSeconds)
  await endContainer(container, effectiveGraceSeconds, abort)
  return found
}

/** Sends SIGTERM, then SIGKILL after the grace period. Succeeds if the container has ended or was removed. */
export async function endContainer(container: Container, graceSeconds: number, abort: AbortSignal): Promise<void> {
  const timeoutMs = graceSeconds * 1000 + killTimeoutMs
  await callEngineOrMissing((abortSignal) => container.stop({ t: graceSeconds, abortSignal }), { abort, timeoutMs }).catch(
    async (error) => {
      // It has already stopped.
      if (statusOf(error) === 304) return
      abort.throwIfAborted()
      await callEngineOrMissing((abortSignal) => container.kill({ abortSignal }), { abort, timeoutMs: killTimeoutMs }).catch(
        () => undefined,
      )
    },
  )
}

/** Removes the container with its anonymous volumes. Named volumes stay. */
export async function removeContainer(instanceId: string, engine: Engine, abort?: AbortSignal): Promise<void> {
  const container = engine.getContainer(containerName(instanceId))
  try {
    await callEngine((abortSignal) => container.remove({ force: true, v: true, abortSignal }), abort ? { abort } : {})
  } catch (error) {
    // Already removed, or removal in progress.
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error
  }
}

export const inspectInstance = (instanceId: string, parts: InspectParts): Promise<Instance | undefined> =>
  inspectContainer(containerName(instanceId), parts)

/** Reads an instance by the name or id of its container. */
export async function inspectContainer(
  nameOrId: string,
  { engine, labels, diskFullMarkers }: InspectParts,
): Promise<Instance | undefined> {
  const container = engine.getContainer(nameOrId)
  const found = await callEngineOrMissing((abortSignal) => container.inspect({ abortSignal }))
  return found && labels.isThisBerth(found.Config.Labels) ? toInstance(found, engine, diskFullMarkers) : undefined
}

export async function listInstances(parts: InspectParts): Promise<Instance[]> {
  const { engine, labels } = parts
  const filters = labels.filter('instance')
  const rows = await callEngine((abortSignal) => engine.listContainers({ all: true, filters, abortSignal }))
  const all = await Promise.all(rows.map(({ Labels: containerLabels }) => inspectInstance(labelIn(containerLabels, 'id'), parts)))
  return all.filter((instance) => instance !== undefined)
}

/** Whether the container's network was removed or the container disconnected from it. Its published port is dead then. */
const hasLostNetwork = ({ HostConfig: { NetworkMode = '' }, NetworkSettings }: ContainerInspectInfo): boolean =>
  isOwnNetwork(NetworkMode) && !Object.hasOwn(NetworkSettings?.Networks ?? {}, NetworkMode)

const states: Record<string, Instance['state']> = {
  created: 'starting',
  running: 'running',
  paused: 'running',
  restarting: 'restarting',
}

/** The most recent end. While the container runs again, the engine reports when it ended, but not how. */
function lastEndIn(
  { FinishedAt, ExitCode, OOMKilled }: ContainerInspectInfo['State'],
  { hasEnded, diskFull }: { hasEnded: boolean; diskFull: boolean },
): { lastEnd?: InstanceEnd } {
  if (!FinishedAt || FinishedAt.startsWith('0001-')) return {}
  const exitCode = hasEnded ? ExitCode : null
  return {
    lastEnd: {
      at: new Date(FinishedAt).toISOString(),
      exitCode,
      reason: endReason(exitCode, { outOfMemory: hasEnded && OOMKilled, diskFull }),
    },
  }
}

/** Address of a container that is only on internal networks: its own, which other projects cannot reach. */
function internalAddress({ Config, NetworkSettings }: ContainerInspectInfo): Instance['address'] {
  const port = Number(labelIn(Config.Labels, 'inside'))
  const host = Object.values(NetworkSettings?.Networks ?? {}).find(({ IPAddress }) => IPAddress)?.IPAddress
  return port && host ? { host, port } : null
}

export function toInstance(found: ContainerInspectInfo, engine: Engine, diskFullMarkers: DiskFullMarkers): Instance {
  const { Config, State, HostConfig, RestartCount, Path } = found
  const listener = listenerOf(engine)
  const state = states[State.Status] ?? 'exited'
  const diskFull = state === 'exited' && diskFullMarkers.has(labelIn(Config.Labels, 'id'))
  const publishedPort = Object.values((HostConfig.PortBindings ?? {}) as Record<string, { HostPort?: string }[]>)[0]?.[0]
    ?.HostPort
  const hasStarted = !State.StartedAt.startsWith('0001-')
  const hasEnded = state === 'exited' || state === 'restarting'
  return {
    instanceId: labelIn(Config.Labels, 'id'),
    owner: ownerIn(Config.Labels),
    service: labelIn(Config.Labels, 'service'),
    state,
    address: publishedPort ? { host: '127.0.0.1', port: Number(publishedPort), ...listener } : internalAddress(found),
    startedAt: hasStarted ? State.StartedAt : null,
    exitCode: hasEnded ? State.ExitCode : null,
    outOfMemory: State.OOMKilled,
    ...(diskFull ? { diskFull } : {}),
    restarts: RestartCount,
    ...(Path ? { program: Path } : {}),
    ...lastEndIn(State, { hasEnded, diskFull }),
    ...(state === 'running' && hasLostNetwork(found) ? { networkLost: true } : {}),
    ...(isRoot(Config.User) && !isRootMapped(engine) ? { runsAsRoot: true } : {}),
    ...engineHealth({ Config, State }),
  }
}
