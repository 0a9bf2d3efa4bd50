import { setTimeout as pause } from 'node:timers/promises'
import type { Acme } from '../../src/drivers/acme/acme.ts'
import type { ArchiveStore } from '../../src/drivers/archive-store/archive-store.ts'
import { createArchiveStores } from '../../src/drivers/archive-store/create-archive-stores.ts'
import type { EdgeDriver } from '../../src/drivers/edge/edge.ts'
import type { Probe } from '../../src/drivers/probe/probe.ts'
import type { InstanceEnd } from '../../src/drivers/runtime/instance-end.ts'
import type { RestartPolicy } from '../../src/drivers/runtime/restart-policy.ts'
import type {
  Artifact,
  BuildRequest,
  ExecCommand,
  ImageRequest,
  Instance,
  InstanceChange,
  Isolation,
  LinkNetwork,
  LogOptions,
  OutputLine,
  Runtime,
  StartRequest,
} from '../../src/drivers/runtime/runtime.ts'
import { ArtifactMissing, BuildFailed, StartFailed, VolumeMissing } from '../../src/drivers/runtime/runtime-errors.ts'
import { localRuntimes, type Runtimes } from '../../src/drivers/runtime/runtimes.ts'
import { type StorageUsage, StorageUsageSum } from '../../src/drivers/runtime/storage-use.ts'
import { createServerLinks } from '../../src/drivers/shell/ssh/server-links.ts'
import type { EdgeListening } from '../../src/edge-proxy/protocol/edge-listening.ts'
import { type EdgeTable, emptyTable } from '../../src/edge-proxy/protocol/edge-table.ts'
import type { TrafficMinute } from '../../src/edge-proxy/protocol/traffic.ts'
import { openArchives } from '../../src/instance/backup-key.ts'
import type { Drivers } from '../../src/instance/drivers/drivers.ts'
import { silentLog } from '../../src/platform/log.ts'

/** Working drivers that keep everything in memory: no process is started, and requested objects exist immediately. */
export interface MemoryDrivers extends Drivers {
  runtime: InMemoryRuntime
  /** Servers on which projects may run; a test adds them. */
  servers: Map<string, InMemoryRuntime>
  edge: InMemoryEdge
  /** Wraps every destination that is opened, so that a test can make its calls fail. */
  aroundStores: { wrap(store: ArchiveStore): ArchiveStore }
}

export function memoryDrivers(workFolder: string): MemoryDrivers {
  const runtime = new InMemoryRuntime()
  const servers = new Map<string, InMemoryRuntime>()
  const stores = createArchiveStores({ log: silentLog, allowPrivate: true, silentMs: 60_000, attempts: 1 })
  const aroundStores = { wrap: (store: ArchiveStore) => store }
  return {
    runtime,
    servers,
    runtimes: memoryRuntimes(runtime, servers),
    links: createServerLinks(),
    edge: new InMemoryEdge(),
    acme: noAuthority,
    dnsChallenge: null,
    tlsProbe: () => Promise.reject(new Error('nothing is served over https')),
    probe: memoryProbe(() => [runtime, ...servers.values()]),
    aroundStores,
    stores: { ...stores, open: async (config) => aroundStores.wrap(await stores.open(config)) },
    // Small parts, so that the archive of a small volume has several.
    archives: openArchives(`${workFolder}/backup.key`, silentLog, 64 * 1024),
    workFolder,
  }
}

/** Probes the workloads in memory. */
export const memoryProbe =
  (runtimes: () => InMemoryRuntime[]): Probe =>
  async ({ port, path, healthyBelow = 400 }, _timeoutMs, abort) => {
    if (abort.aborted) return { healthy: false, status: null, reason: 'the check was aborted' }
    const status = runtimes()
      .map((runtime) => runtime.statusAt(port, path))
      .find((found) => found !== null)
    if (status === undefined) return { healthy: false, status: null, reason: 'nothing listens on its port' }
    return status < healthyBelow ? { healthy: true, status } : { healthy: false, status, reason: `it answered ${status}` }
  }

function memoryRuntimes(here: InMemoryRuntime, servers: ReadonlyMap<string, InMemoryRuntime>): Runtimes {
  const find = (serverId: string | null) => (serverId === null ? here : servers.get(serverId))
  return {
    for: (serverId) => find(serverId) ?? localRuntimes(here).for(serverId),
    all: async () => [
      { serverId: null, runtime: here },
      ...Array.from(servers, ([serverId, runtime]) => ({ serverId, runtime })),
    ],
    onChange: localRuntimes(here).onChange,
    disconnects: () => 0,
    onReconnect: () => () => undefined,
    close: async () => {},
  }
}

/** A scheduled task replaces the entrypoint of its image. */
const isTask = ({ entrypoint, command }: StartRequest) => entrypoint?.length === 0 && command !== null

interface Kept {
  instance: Instance
  request: StartRequest
  output: OutputLine[]
}

export interface RemoteImage {
  digest: string
  ports: number[]
  /** The password that a login needs to pull it. */
  password?: string
}

export class InMemoryRuntime implements Runtime {
  kind: Runtime['kind'] = 'process'
  isolation: Isolation = { kind: 'docker', message: 'in memory' }
  readonly running = new Map<string, Kept>()
  readonly artifacts = new Map<string, Artifact & { deploymentId: string; projectId: string }>()
  readonly volumes = new Map<string, Uint8Array>()
  /** Runs during a build; a test makes it wait, log or fail. */
  whileBuilding: (request: BuildRequest, report: (message: string) => void, abort: AbortSignal) => Promise<void> = async () => {}
  isHealthy = true
  /** Whether started workloads run as root. */
  runsAsRoot = false
  /** Paths that respond with a 500, even if the others are healthy. */
  readonly failingPaths = new Set<string>()
  /** Whether any workload responds. */
  isListening = true
  #nextPort: number

  constructor(firstPort = 20_000) {
    this.#nextPort = firstPort
  }

  check = async () => ({ version: 'memory' })

  async build(request: BuildRequest, onLine: (line: OutputLine) => void, abort: AbortSignal): Promise<Artifact> {
    await this.whileBuilding(request, (message) => onLine({ time: new Date().toISOString(), stream: 'stdout', message }), abort)
    abort.throwIfAborted()
    const { projectId, deploymentId } = request.owner
    const reference = `memory/${deploymentId}${request.service}`
    const artifact: Artifact = { kind: 'folder', reference, sizeBytes: 1, startCommand: request.plan.startCommand }
    this.artifacts.set(reference, { ...artifact, projectId, deploymentId })
    return artifact
  }

  /** Images of registries by name; a test adds them. The runtime behaves as if it already had all others. */
  readonly images = new Map<string, RemoteImage>()
  readonly fetched: ImageRequest[] = []

  async fetchImage(request: ImageRequest, onLine: (line: OutputLine) => void): Promise<Artifact> {
    this.fetched.push(request)
    const { image, owner, alwaysPull, registryLogins = [] } = request
    onLine({ time: new Date().toISOString(), stream: 'stdout', message: `Fetching the image ${image}` })
    const found = this.images.get(image)
    const login = registryLogins.find(({ host }) => image.startsWith(`${host}/`))
    if (found?.password !== undefined && login?.password.reveal() !== found.password)
      throw new BuildFailed('missing_tool', `The image ${image} could not be fetched: unauthorized`)
    const reference = alwaysPull && found ? `${image.replace(/:[^/:]*$/, '')}@${found.digest}` : image
    const ports = alwaysPull ? { exposedPorts: found?.ports ?? [] } : {}
    const artifact = { kind: 'image' as const, reference, sizeBytes: alwaysPull ? 1 : 0, startCommand: null, ...ports }
    this.artifacts.set(reference, { ...artifact, ...owner })
    return artifact
  }

  async start(request: StartRequest): Promise<Instance> {
    const known = this.running.get(request.instanceId)
    if (known) return known.instance
    if (!this.artifacts.has(request.artifact.reference)) throw new ArtifactMissing('The artifact does not exist any more')
    const instance: Instance = {
      instanceId: request.instanceId,
      owner: request.owner,
      service: request.service,
      state: 'running',
      address: request.port === null ? null : { host: '127.0.0.1', port: this.#nextPort++ },
      startedAt: new Date().toISOString(),
      exitCode: null,
      outOfMemory: false,
      restarts: 0,
      ...(this.runsAsRoot ? { runsAsRoot: true } : {}),
    }
    const output: OutputLine[] = [{ time: new Date().toISOString(), stream: 'stdout', message: 'started' }]
    const kept = { instance, request, output }
    this.running.set(request.instanceId, kept)
    for (const link of request.links ?? []) this.#join(request.instanceId, link)
    if (isTask(request)) void this.#runTask(kept)
    return instance
  }

  /** Runs as the command of a scheduled task, and returns its exit code; set by a test. */
  whileTask: (request: StartRequest, report: (message: string) => void) => Promise<number> = async () => 0

  async #runTask({ request, output }: Kept): Promise<void> {
    const report = (message: string) => output.push({ time: new Date().toISOString(), stream: 'stdout', message })
    const exitCode = await this.whileTask(request, report)
    if (this.running.has(request.instanceId)) this.exit(request.instanceId, exitCode)
  }

  /** Networks of links that instances joined while they ran, by instance. */
  readonly joinedLinks = new Map<string, LinkNetwork[]>()
  readonly removedLinks: string[] = []
  /** Existing networks of links, with the instances on each. */
  readonly linkNetworks = new Map<string, Set<string>>()
  #join(instanceId: string, { name }: LinkNetwork): void {
    this.linkNetworks.set(name, (this.linkNetworks.get(name) ?? new Set()).add(instanceId))
  }
  async joinLink(instanceId: string, link: LinkNetwork): Promise<void> {
    this.#join(instanceId, link)
    this.joinedLinks.set(instanceId, [...(this.joinedLinks.get(instanceId) ?? []), link])
  }
  async removeLink(name: string): Promise<void> {
    this.linkNetworks.delete(name)
    this.removedLinks.push(name)
  }

  /** Restart policies by instance. */
  readonly restartPolicies = new Map<string, RestartPolicy>()
  async setRestart(instanceId: string, policy: RestartPolicy): Promise<void> {
    this.restartPolicies.set(instanceId, policy)
  }

  async stop(instanceId: string): Promise<void> {
    this.running.delete(instanceId)
  }

  inspect = async (instanceId: string) => this.running.get(instanceId)?.instance
  inspectCached = (instanceId: string) => this.inspect(instanceId)
  list = async () => [...this.running.values()].map(({ instance }) => instance)

  /** Resources that each instance has used; set by a test. */
  readonly used = { cpuSeconds: 0, memoryBytes: 0 }
  usage = async () =>
    [...this.running.values()].map(({ instance: { instanceId, owner, startedAt } }) => ({
      instanceId,
      owner,
      startedAt,
      ...this.used,
    }))

  async *logs(instanceId: string, after: string | null, abort: AbortSignal, { follow }: LogOptions = { follow: true }) {
    for (let at = Number(after ?? 0); !abort.aborted; ) {
      const kept = this.running.get(instanceId)
      const line = kept?.output[at]
      if (line) yield { ...line, position: String(++at) }
      else if (!kept || !follow || kept.instance.state === 'exited') return
      else await pause(20, undefined, { signal: abort }).catch(() => undefined)
    }
  }

  readonly #listeners = new Set<(change: InstanceChange) => void>()

  onChange = (listener: (change: InstanceChange) => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Simulates an instance that exits by itself and is not restarted. */
  exit(instanceId: string, exitCode: number, reason: InstanceEnd['reason'] = 'exit'): void {
    const kept = this.running.get(instanceId) as Kept
    const lastEnd = { at: new Date(this.#endTime()).toISOString(), exitCode, reason }
    const outOfMemory = reason === 'out_of_memory'
    kept.instance = { ...kept.instance, state: 'exited', address: null, exitCode, outOfMemory, lastEnd }
    for (const listener of this.#listeners) listener({ instance: kept.instance, kind: 'exited', reason: 'requested by a test' })
  }

  #lastEnd = 0
  /** Each exit has a distinct time. */
  #endTime(): number {
    this.#lastEnd = Math.max(Date.now(), this.#lastEnd + 1)
    return this.#lastEnd
  }

  /** Simulates an instance that crashes. It has no address until the test calls `comeBack`, which gives it another one. */
  crash(instanceId: string, exitCode = 1, why: InstanceEnd['reason'] = 'exit'): { comeBack(): void } {
    const lastEnd = { at: new Date(this.#endTime()).toISOString(), exitCode, reason: why }
    const kept = this.running.get(instanceId) as Kept
    const change = (changes: Partial<Instance>, kind: InstanceChange['kind']) => {
      kept.instance = { ...kept.instance, ...changes }
      for (const listener of this.#listeners) listener({ instance: kept.instance, kind, reason: 'requested by a test' })
    }
    change({ state: 'restarting', address: null, restarts: kept.instance.restarts + 1, lastEnd }, 'restarted')
    return {
      comeBack: () => change({ state: 'running', address: { host: '127.0.0.1', port: this.#nextPort++ } }, 'moved'),
    }
  }

  async removeArtifact({ reference }: Artifact): Promise<void> {
    const isUsed = [...this.running.values()].some(({ request }) => request.artifact.reference === reference)
    if (!isUsed) this.artifacts.delete(reference)
  }

  /** Omits pulled images, as a Docker engine does: they have no label that names their owner. */
  listArtifacts = async () => [...this.artifacts.values()].filter(({ reference }) => !reference.includes('@sha256:'))

  async removeBuilds(projectId: string): Promise<void> {
    for (const artifact of this.artifacts.values()) if (artifact.projectId === projectId) await this.removeArtifact(artifact)
    this.buildCache.delete(projectId)
  }

  /** Bytes that builds of each project have left in the cache, set by tests. */
  readonly buildCache = new Map<string, number>()

  async storage(): Promise<StorageUsage> {
    const use = new StorageUsageSum()
    for (const { projectId, sizeBytes } of this.artifacts.values()) use.add('artifact', projectId, sizeBytes)
    for (const [projectId, bytes] of this.buildCache) use.add('cache', projectId, bytes)
    return { ...use.result(), cacheMaxBytes: 10_000, disk: { totalBytes: 1_000_000, freeBytes: 400_000 } }
  }

  async clearBuildCache(): Promise<void> {
    this.buildCache.clear()
  }

  async createVolume({ id, name, mustExist }: Parameters<Runtime['createVolume']>[0]): Promise<void> {
    if (mustExist && !this.volumes.has(id)) throw new VolumeMissing({ id, name })
    if (!this.volumes.has(id)) this.volumes.set(id, new Uint8Array())
  }

  volumeSizeBytes = async (id: string) => this.volumes.get(id)?.length ?? null
  removeVolume = async (id: string) => void this.volumes.delete(id)

  async *readVolume(id: string) {
    yield this.volumes.get(id) ?? new Uint8Array()
  }

  async writeVolume(id: string, tar: AsyncIterable<Uint8Array>): Promise<void> {
    const chunks: Uint8Array[] = []
    for await (const chunk of tar) chunks.push(chunk)
    this.volumes.set(id, Buffer.concat(chunks))
  }

  /** Runs as the program inside an instance; set by a test. */
  onExec: (command: ExecCommand, instanceId: string, abort: AbortSignal) => Promise<{ exitCode: number; stderrTail: string }> =
    async () => ({
      exitCode: 127,
      stderrTail: 'there are no programs in memory',
    })

  async exec(instanceId: string, command: ExecCommand, abort: AbortSignal): Promise<{ exitCode: number; stderrTail: string }> {
    if (!this.running.has(instanceId)) throw new StartFailed(`The instance ${instanceId} does not run`)
    return this.onExec(command, instanceId, abort)
  }

  /** Ids of adopted foreign containers that were restored. */
  readonly rolledBackTakeovers: string[] = []
  readonly foreign: NonNullable<Runtime['foreign']> = {
    inspect: async () => ({ isRunning: true, restart: { name: 'always', retries: 0 } }),
    stop: async () => undefined,
    rollbackTakeover: async (containerId) => void this.rolledBackTakeovers.push(containerId),
  }

  async close(): Promise<void> {}

  /** Returns the HTTP status of the workload on the port; null if nothing listens there. */
  statusAt(port: number, path = ''): number | null {
    const isThere = this.isListening && [...this.running.values()].some(({ instance }) => instance.address?.port === port)
    return isThere ? (this.isHealthy && !this.failingPaths.has(path) ? 200 : 500) : null
  }
}

/** Holds the current table and serves no requests. */
export class InMemoryEdge implements EdgeDriver {
  readonly isAdopted = false
  table: EdgeTable = emptyTable
  readonly #wakeListeners = new Set<(projectId: string, hostname: string) => void>()
  readonly #certificateListeners = new Set<(hostname: string) => void>()

  /** The addresses that this edge reports to listen on. */
  listening: EdgeListening = { http: { host: '127.0.0.1', port: 4080 }, https: null }
  start = async () => this.listening

  /** Runs before a table takes effect; a test makes it wait or fail. */
  beforeApply: (table: EdgeTable) => Promise<void> = async () => {}
  /** Hosts that this edge rejects, with the reason. */
  refused: Record<string, string> = {}

  async apply(table: EdgeTable, abort?: AbortSignal) {
    abort?.throwIfAborted()
    await this.beforeApply(table)
    const before = this.table
    this.table = { ...table, hosts: { ...table.hosts } }
    for (const name of Object.keys(this.refused)) {
      delete this.table.hosts[name]
      if (before.hosts[name]) this.table.hosts[name] = before.hosts[name]
    }
    return { version: table.version, warnings: [], refused: this.refused }
  }

  drain = async () => ({ inFlight: 0 })
  onRequests = () => () => {}

  readonly #trafficListeners = new Set<(minutes: TrafficMinute[]) => void>()
  onTraffic(listener: (minutes: TrafficMinute[]) => void) {
    this.#trafficListeners.add(listener)
    return () => this.#trafficListeners.delete(listener)
  }

  /** Reports counted requests. */
  reportTraffic(...minutes: TrafficMinute[]): void {
    for (const listener of this.#trafficListeners) listener(minutes)
  }

  onWake(listener: (projectId: string, hostname: string) => void) {
    this.#wakeListeners.add(listener)
    return () => this.#wakeListeners.delete(listener)
  }

  /** Simulates a request for a host of a sleeping project. */
  wake(projectId: string, hostname: string): void {
    for (const listener of this.#wakeListeners) listener(projectId, hostname)
  }

  onCertificateWanted(listener: (hostname: string) => void) {
    this.#certificateListeners.add(listener)
    return () => this.#certificateListeners.delete(listener)
  }

  /** Simulates the use of a host without a certificate, as the edge reports it: only where the table requests one. */
  use(hostname: string): void {
    if (!this.table.hosts[hostname]?.requestCertificate) return
    for (const listener of this.#certificateListeners) listener(hostname)
  }

  activity = async () => ({})
  ruleHits = async () => ({})
  requestTotals = async () => ({ total: 0, failed: 0 })
  async stop(): Promise<void> {}
}

const noAuthority: Acme = {
  newAccountKey: () => Promise.reject(new Error('there is no authority in memory')),
  order: () => Promise.reject(new Error('there is no authority in memory')),
}
