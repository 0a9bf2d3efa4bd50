import { readFile, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { EdgeAddress, EdgeListening } from '../../../edge-proxy/protocol/edge-listening.ts'
import type { EdgeTable } from '../../../edge-proxy/protocol/edge-table.ts'
import { nginxFiles } from '../../../edge-proxy/protocol/nginx-files.ts'
import type { RequestRecord, RequestTotals } from '../../../edge-proxy/protocol/request-record.ts'
import type { TrafficMinute } from '../../../edge-proxy/protocol/traffic.ts'
import { Mutex } from '../../../platform/keyed-mutex.ts'
import type { RunCommand } from '../../shell/command.ts'
import type { EdgeApplied, EdgeDriver } from '../edge.ts'
import { defaultGraceMs, pause } from '../edge-finder.ts'
import { EmbeddedEdge, type EmbeddedEdgeOptions } from '../embedded-edge.ts'
import { ConfigFolder } from './config-folder.ts'
import { KnownUpstreams } from './known-upstreams.ts'
import { waitsForClients } from './main-config.ts'
import { type NginxConfig, type NginxSettings, nginxConfig } from './nginx-config.ts'
import { endNginx, findMaster, NginxProcess, workersOf } from './nginx-process.ts'
import { findNginx } from './nginx-program.ts'
import { workerUser } from './nginx-user.ts'
import { openConnections } from './open-connections.ts'
import { usableTable } from './usable-table.ts'

export interface NginxEdgeOptions extends Omit<EmbeddedEdgeOptions, 'front' | 'endOther'> {
  /** Private folder of nginx. `folder` is that of the edge behind it. */
  nginxFolder: string
  run: RunCommand
  /** Folders of programs, as in PATH. */
  path?: string
  /** Default: the nginx of the PATH or of a system folder. */
  nginx?: string
  /** Default: one for each processor. */
  nginxWorkers?: number
}

/** Longer than the pauses of a busy client between two requests. */
const closingMs = 300
const drainPollMs = 50
const watchEveryMs = 1_000

/** Set by `start`. */
interface Started {
  settings: NginxSettings
  nginx: NginxProcess
  listening: EdgeListening
}

/**
 * nginx in front, and the embedded edge behind it on a unix socket (the helper). nginx forwards requests to running instances; everything
 * else, and every check of a rule, goes to the helper, which has the same table.
 */
export class NginxEdge implements EdgeDriver {
  readonly #options: NginxEdgeOptions
  readonly #helper: EmbeddedEdge
  readonly #folder: ConfigFolder
  readonly #upstreams: KnownUpstreams
  readonly #onError: (text: string) => void
  /** Configurations are written and loaded one after another. */
  readonly #mutex = new Mutex()
  #started: Started | undefined
  #version: NginxSettings['version'] = [0, 0, 0]
  #isAdopted: boolean | undefined
  #table: EdgeTable | undefined
  /** Texts of the configuration that nginx has loaded; undefined if unknown. */
  #loaded: Record<string, string> | undefined
  #watchTimer: NodeJS.Timeout | undefined

  constructor(options: NginxEdgeOptions) {
    this.#options = options
    this.#helper = new EmbeddedEdge(options)
    this.#folder = new ConfigFolder(options.nginxFolder)
    this.#upstreams = new KnownUpstreams(join(options.nginxFolder, 'upstreams.json'))
    this.#onError = options.onError ?? (() => {})
  }

  get isAdopted(): boolean {
    return this.#isAdopted === true
  }

  async start(): Promise<EdgeListening> {
    this.#started ??= await this.#start()
    this.#watchTimer ??= setInterval(() => void this.#restartIfDead(), watchEveryMs).unref()
    return this.#started.listening
  }

  async #start(): Promise<Started> {
    const { nginxFolder, run } = this.#options
    const program = await findNginx(run, this.#options.nginx)
    const user = await workerUser()
    this.#version = program.version
    await this.#folder.create(user)
    await rm(join(nginxFolder, nginxFiles.closing), { force: true })
    await this.#upstreams.load()
    const isRunning = (await findMaster(nginxFolder)) !== undefined
    this.#isAdopted ??= isRunning
    const listening = await this.#chooseAddresses()
    const workers = this.#options.nginxWorkers ?? availableParallelism()
    const settings = { ...listening, user: user?.name ?? null, version: program.version, workers }
    const nginx = new NginxProcess({ folder: nginxFolder, program: program.path, workers, path: this.#options.path }, run)
    await this.#helper.start({ ...listening, front: { folder: nginxFolder, uid: user?.uid ?? null } })
    if (isRunning) this.#loaded = await this.#folder.readActive()
    // The helper serves the last table until the control plane sends one.
    else await this.#load(nginxConfig({ version: 0, hosts: {} }, settings), nginx)
    return { settings, nginx, listening }
  }

  apply(table: EdgeTable, abort?: AbortSignal): Promise<EdgeApplied> {
    this.#table = table
    return this.#mutex.run(() => this.#apply(this.#table!, abort), abort)
  }

  /** The helper first: what nginx forwards to it afterwards follows the new table. */
  async #apply(table: EdgeTable, abort?: AbortSignal): Promise<EdgeApplied> {
    const started = this.#started
    if (!started) throw new Error('the edge is not started')
    const applied = await this.#helper.apply(table, abort)
    const { usable, warnings } = usableTable(table, applied.refused)
    const { settings, nginx } = started
    const config = nginxConfig(usable, settings)
    if (!isDeepStrictEqual(config.files, this.#loaded)) await this.#load(config, nginx)
    return { ...applied, warnings: [...applied.warnings, ...warnings, ...config.warnings] }
  }

  /** A configuration that nginx refuses is removed: the previous one stays. */
  async #load(config: NginxConfig, nginx: NginxProcess): Promise<void> {
    const name = await this.#folder.write(config)
    try {
      await nginx.check(name)
    } catch (cause) {
      await this.#folder.remove(name)
      throw cause
    }
    await this.#upstreams.replace(config, Date.now())
    await this.#folder.activate(name)
    this.#loaded = undefined
    await this.#reload(nginx)
    this.#loaded = config.files
    await this.#folder.removeUnused(config.certificates)
  }

  /**
   * A worker that is replaced closes idle connections, and a client may be sending a request on one. So clients are told to close theirs
   * before. Since 1.27.4 nginx waits for such requests itself (`keepalive_min_timeout`).
   */
  async #reload(nginx: NginxProcess): Promise<void> {
    const file = join(this.#options.nginxFolder, nginxFiles.closing)
    try {
      if (!waitsForClients(this.#version) && (await findMaster(this.#options.nginxFolder)) !== undefined) {
        await writeFile(file, '', { mode: 0o600 })
        await pause(closingMs)
      }
      await nginx.reload()
    } finally {
      await rm(file, { force: true })
    }
  }

  async drain(upstreamId: string, timeoutMs: number, abort?: AbortSignal): Promise<{ inFlight: number }> {
    const [behind, direct] = await Promise.all([
      this.#helper.drain(upstreamId, timeoutMs, abort),
      this.#drainDirect(upstreamId, performance.now() + timeoutMs, abort),
    ])
    return { inFlight: behind.inFlight + direct }
  }

  /** The connections of nginx itself. A worker with an old configuration closes its idle ones. */
  async #drainDirect(upstreamId: string, giveUpAt: number, abort?: AbortSignal): Promise<number> {
    const upstream = this.#upstreams.get(upstreamId)
    if (!upstream) return 0
    for (;;) {
      abort?.throwIfAborted()
      const count = (await this.#connections(new Map([[upstreamId, upstream]]))).get(upstreamId) ?? 0
      if (count === 0 || performance.now() >= giveUpAt) return count
      await pause(drainPollMs)
    }
  }

  async #connections(addresses: ReadonlyMap<string, EdgeAddress>): Promise<Map<string, number>> {
    const master = await findMaster(this.#options.nginxFolder)
    if (master === undefined || addresses.size === 0) return new Map()
    const workers = await workersOf(master)
    return openConnections(
      workers.map(({ pid }) => pid),
      addresses,
    )
  }

  onRequests(listener: (batch: RequestRecord[], dropped: number) => void): () => void {
    return this.#helper.onRequests(listener)
  }

  onTraffic(listener: (minutes: TrafficMinute[]) => void): () => void {
    return this.#helper.onTraffic(listener)
  }

  onWake(listener: (projectId: string, hostname: string) => void): () => void {
    return this.#helper.onWake(listener)
  }

  onCertificateWanted(listener: (hostname: string) => void): () => void {
    return this.#helper.onCertificateWanted(listener)
  }

  /** nginx logs a request when it ends: a project with an open connection is in use. */
  async activity(): Promise<Record<string, number>> {
    const [activity, open] = await Promise.all([this.#helper.activity(), this.#connections(this.#upstreams.addresses)])
    const now = Date.now()
    const used = [...open.keys()].map((id) => [this.#upstreams.get(id)!.projectId, now])
    return { ...activity, ...Object.fromEntries(used) }
  }

  ruleHits(): Promise<Record<string, number>> {
    return this.#helper.ruleHits()
  }

  requestTotals(id: string): Promise<RequestTotals> {
    return this.#helper.requestTotals(id)
  }

  /** nginx first: it finishes its requests, and needs the helper for some of them. */
  async stop({ keepServing, graceMs = defaultGraceMs }: { keepServing: boolean; graceMs?: number }): Promise<void> {
    clearInterval(this.#watchTimer)
    this.#watchTimer = undefined
    this.#started = undefined
    if (!keepServing) await this.#mutex.run(() => endNginx(this.#options.nginxFolder, graceMs))
    await this.#helper.stop({ keepServing, graceMs })
  }

  async #restartIfDead(): Promise<void> {
    if ((await findMaster(this.#options.nginxFolder)) !== undefined) return
    await this.#mutex.run(async () => {
      const started = this.#started
      if (!started || (await findMaster(this.#options.nginxFolder)) !== undefined) return
      this.#onError('nginx has ended and is started again')
      await started.nginx.start().catch((cause) => this.#onError(String(cause)))
    })
  }

  /** Port 0: that of an earlier start, or any free port. */
  async #chooseAddresses(): Promise<EdgeListening> {
    const path = join(this.#options.nginxFolder, 'ports.json')
    const earlier = JSON.parse(await readFile(path, 'utf8').catch(() => '{}')) as { http?: number; https?: number }
    const choose = async ({ host, port }: EdgeAddress, previous: number | undefined) => ({
      host,
      port: port || previous || (await freePort(host)),
    })
    const http = await choose(this.#options.http, earlier.http)
    const https = this.#options.https ? await choose(this.#options.https, earlier.https) : null
    await writeFile(path, JSON.stringify({ http: http.port, https: https?.port }), { mode: 0o600 })
    return { http, https }
  }
}

function freePort(host: string): Promise<number> {
  const server = net.createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port: 0 }, () => {
      const { port } = server.address() as net.AddressInfo
      server.close(() => resolve(port))
    })
  })
}
