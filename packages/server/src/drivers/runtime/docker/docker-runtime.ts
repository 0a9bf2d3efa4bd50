import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createDownload, type Download } from '../../web-request/download.ts'
import type { Runtime } from '../runtime.ts'
import type { BaseImages } from './build/base-images.ts'
import { buildArtifact } from './build/build.ts'
import { BuildCache } from './build/build-cache.ts'
import { BuildStages } from './build/build-stages.ts'
import { listStaticArtifacts, removeStaticArtifact } from './build/build-static.ts'
import { InstanceChanges } from './changes.ts'
import { callEngine, type Engine, engineUnreachableAt, isRemote, openEngine } from './engine.ts'
import { ensureImage, fetchImage } from './fetch-image.ts'
import { readIdentity } from './identity.ts'
import { asBuildFailure, listImageArtifacts, removeImageArtifact } from './images.ts'
import { Labels } from './labels.ts'
import { PrivateRepositories } from './private-repositories.ts'
import { containerControl } from './run/container-control.ts'
import { containerName } from './run/container-settings.ts'
import { DiskFullMarkers } from './run/disk-full-markers.ts'
import { DiskLimits } from './run/disk-limits.ts'
import { EgressFilter, type EgressFilterSettings, type EgressFilterState } from './run/egress-filter.ts'
import { foreignContainers } from './run/foreign-containers.ts'
import type { InstanceControl, OpenControl } from './run/instance-control.ts'
import { readLogs } from './run/logs.ts'
import { Networks } from './run/networks.ts'
import { detectRootMapping, isRootMapped } from './run/root-user.ts'
import { readUsage } from './run/usage.ts'
import { Volumes } from './run/volumes.ts'
import { clearBuildCache, measureStorage, removeBuildsOf } from './storage.ts'
import { SubnetAllocator, type SubnetAllocatorSettings } from './subnet-allocator.ts'
import { removeLeftovers } from './sweep.ts'

export interface DockerRuntimeSettings {
  /** Socket of an engine on this machine. `engine` is one with another connection. */
  socketPath?: string
  engine?: Engine
  /** Folder of this Berth: static pages, records, and its identity. */
  folder: string
  imageMirror: string | null
  baseImages?: BaseImages
  /** Registries that images may be pulled from. Null: any. */
  registries?: readonly string[] | null
  download?: Download
  /** Firewall between projects and the machine's own network. Null: none. */
  egressFilter?: Omit<EgressFilterSettings, 'instance'> | null
  /** Address ranges for networks. */
  addresses?: SubnetAllocatorSettings
  /** Size limit of the BuildKit cache. Null: 10 GB, or a fifth of the disk if that is less. */
  buildCacheBytes?: number | null
  /** Whether containers may run as root. Default: true. */
  allowRoot?: boolean
  /** Interval of the disk usage measurements. Default: a minute. */
  diskPollMs?: number
  /** False: BuildKit is used only for Dockerfiles that need it. */
  prefersBuildKit?: boolean
  /** Default: each instance is a container. */
  openControl?: OpenControl
}

const checkTimeoutMs = 5_000
const firewallCheckMs = 60_000
/** How long a stop waits until the output has been read. */
const outputReadTimeoutMs = 10_000

/** Runs projects as containers of a Docker engine. */
export function createDockerRuntime(settings: DockerRuntimeSettings): Runtime & { egressFilter(): EgressFilterState | null } {
  const { socketPath = '', folder, imageMirror, baseImages = {}, registries = null, download = createDownload() } = settings
  const { instance, cacheKey } = readIdentity(folder)
  const engine = settings.engine ?? openEngine(socketPath)
  const labels = new Labels(instance)
  const egressFilter = settings.egressFilter ? new EgressFilter({ ...settings.egressFilter, instance }) : null
  const networks = new Networks(engine, labels, egressFilter, new SubnetAllocator(engine, settings.addresses))
  const volumes = new Volumes(engine, labels, folder)
  const diskFullMarkers = new DiskFullMarkers(folder)
  const diskLimits = new DiskLimits({ engine, labels, diskFullMarkers, pollMs: settings.diskPollMs })
  const readers = new Map<string, Set<Promise<void>>>()
  const artifactsFolder = join(folder, 'artifacts')
  mkdirSync(artifactsFolder, { recursive: true })
  const isStrict = settings.egressFilter?.isStrict ?? false
  // In strict mode every build has its own network, which BuildKit does not support.
  const prefersBuildKit = settings.prefersBuildKit ?? !isStrict
  const cache = new BuildCache(engine, join(folder, 'build-cache.json'), settings.buildCacheBytes ?? null)
  const stages = new BuildStages(engine, labels)
  const privateRepositories = new PrivateRepositories(join(folder, 'private-repositories.json'))
  const images = {
    privateRepositories,
    imageMirror,
    baseImages,
    registries,
    download,
    cacheKey,
    artifactsFolder,
    isStrict,
    prefersBuildKit,
  }
  const forbidsRoot = settings.allowRoot === false
  const parts = { engine, labels, networks, volumes, cache, stages, forbidsRoot, diskFullMarkers, egressFilter, ...images }
  const control: InstanceControl = (settings.openControl ?? containerControl)(parts)
  const changes = new InstanceChanges({ engine, labels, diskFullMarkers, control })
  // Removes leftovers of builds that ended with their control plane. A remote engine is not contacted before its first use.
  let sweeping = isRemote(engine) ? undefined : removeLeftovers(parts).catch(() => undefined)

  // Another program that reloads the machine's firewall removes Berth's rules while projects run. They are restored.
  let filterAppliedAt = Number.NEGATIVE_INFINITY
  let filterTimer: NodeJS.Timeout | undefined
  const applyFilter = async () => {
    filterAppliedAt = performance.now()
    await egressFilter?.apply(await networks.unnamedBridges(isStrict))
  }
  const ensureFilter = async () => {
    if (!egressFilter || (egressFilter.state.inForce && performance.now() - filterAppliedAt < firewallCheckMs)) return
    await applyFilter()
    // Retries later if the engine is unreachable.
    filterTimer ??= setInterval(() => void applyFilter().catch(() => undefined), firewallCheckMs).unref()
  }

  return {
    kind: 'docker',
    egressFilter: () => egressFilter?.state ?? null,
    get isolation() {
      const networkMessage =
        egressFilter?.state.message ?? 'Projects in Docker can reach every network of this machine: there is no egress filter'
      return {
        kind: 'docker' as const,
        message: `Docker: each project runs in its own containers${userDescription(engine, forbidsRoot)}. ${networkMessage}`,
      }
    },
    async check(abort) {
      try {
        const { Version } = await callEngine(() => engine.version(), { abort, timeoutMs: checkTimeoutMs })
        await detectRootMapping(engine)
        await ensureFilter()
        return { version: Version }
      } catch (error) {
        abort.throwIfAborted()
        if (isRemote(engine)) throw error
        throw engineUnreachableAt(socketPath, error)
      }
    },
    async build(request, onLine, abort) {
      sweeping ??= removeLeftovers(parts).catch(() => undefined)
      await sweeping
      await ensureFilter()
      return buildArtifact(request, onLine, abort, parts)
    },

    async fetchImage(request, onLine, abort) {
      const { image, owner, registryLogins = [] } = request
      const report = (message: string) => onLine({ time: new Date().toISOString(), stream: 'stdout', message })
      try {
        if (request.alwaysPull) return await fetchImage(request, parts, report, abort)
        await ensureImage(image, parts, { projectId: owner.projectId, logins: registryLogins }, report, abort)
        return { kind: 'image', reference: image, sizeBytes: 0, startCommand: null }
      } catch (error) {
        throw asBuildFailure(error)
      }
    },

    async start(request, abort) {
      await ensureFilter()
      const started = await control.start(request, abort)
      changes.instanceStarted(started)
      diskLimits.instanceStarted(request.resources.diskMb)
      return started
    },
    async joinLink(instanceId, link) {
      const found = await control.inspect(instanceId)
      if (found) await networks.joinLinks(containerName(instanceId), [link])
    },
    removeLink: (name) => networks.removeLink(name),
    setRestart: (instanceId, policy, abort) => control.setRestart(instanceId, policy, abort),
    async stop(instanceId, { graceSeconds }, abort) {
      changes.expectEnd(instanceId)
      await control.stop(instanceId, graceSeconds, abort, async () => {
        const reading = Promise.allSettled(readers.get(instanceId) ?? [])
        await Promise.race([reading, pause(outputReadTimeoutMs, undefined, { ref: false })])
      })
      diskFullMarkers.delete(instanceId)
      changes.forget(instanceId)
    },
    inspect: (instanceId) => control.inspect(instanceId),
    inspectCached: (instanceId) => changes.known.find(instanceId, () => control.inspect(instanceId)),
    list: () => control.list(),
    usage: (abort) => readUsage(parts, abort),
    async *logs(instanceId, after, abort, { follow } = { follow: true }) {
      const { promise: reading, resolve: finish } = Promise.withResolvers<void>()
      const all = readers.get(instanceId) ?? new Set()
      readers.set(instanceId, all.add(reading))
      try {
        yield* readLogs(
          {
            engine,
            containers: () => control.containers(instanceId),
            hasEnded: async () => !follow || hasEnded(await control.inspect(instanceId)),
          },
          after,
          abort,
        )
      } finally {
        all.delete(reading)
        if (all.size === 0) readers.delete(instanceId)
        finish()
      }
    },
    onChange(listener) {
      diskLimits.watch()
      return changes.listen(listener)
    },
    disconnects: () => changes.disconnects,
    onReconnect: (listener) => changes.onReconnect(listener),

    removeArtifact: (artifact, abort) =>
      artifact.kind === 'static' ? removeStaticArtifact(artifact, artifactsFolder) : removeImageArtifact(artifact, parts, abort),
    listArtifacts: async () => [...(await listImageArtifacts(parts)), ...(await listStaticArtifacts(artifactsFolder))],
    async removeBuilds(projectId, abort) {
      await removeBuildsOf(projectId, parts, abort)
      await networks.removeOrphaned(projectId)
    },
    storage: (abort) => measureStorage(parts, abort),
    clearBuildCache: (abort) => clearBuildCache(parts, abort),

    async createVolume(volume) {
      await (volume.mustExist ? volumes.find(volume) : volumes.create(volume))
    },
    volumeSizeBytes: (id) => volumes.sizeBytes(id),
    removeVolume: (id) => volumes.remove(id),
    readVolume: (id, abort) => volumes.read(id, abort),
    writeVolume: (id, tar, abort) => volumes.write(id, tar, abort),

    foreign: foreignContainers(engine),

    exec: (instanceId, command, abort) => control.exec(instanceId, command, abort),
    async close() {
      clearInterval(filterTimer)
      diskLimits.close()
      await changes.close()
    },
  }
}

const userDescription = (engine: Engine, forbidsRoot: boolean) =>
  isRootMapped(engine)
    ? ', whose root is another user of this machine (user namespaces)'
    : forbidsRoot
      ? ', none of them as root'
      : ''

const hasEnded = (instance: Awaited<ReturnType<Runtime['inspect']>>) => !instance || instance.state === 'exited'
