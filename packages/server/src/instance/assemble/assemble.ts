import { randomBytes } from 'node:crypto'
import type { ModuleName } from '@berth/contract'
import type { FastifyInstance } from 'fastify'
import type { Git } from '../../drivers/git/git.ts'
import { ApiMetrics } from '../../http/api-metrics.ts'
import type { Loaders } from '../../http/handler.ts'
import { serveMetrics } from '../../http/metrics-route.ts'
import { mountRows } from '../../http/mount.ts'
import type { MountDeps } from '../../http/mount-deps.ts'
import { OpenStreams } from '../../http/open-streams.ts'
import { RateLimiter } from '../../http/rate-limit.ts'
import { ReadSlots } from '../../http/read-slots.ts'
import { createHttpServer, mountWorkerRows } from '../../http/server.ts'
import type { createAccess } from '../../modules/access/index.ts'
import type { createGitHost } from '../../modules/git-host/index.ts'
import type { createProjects } from '../../modules/projects/index.ts'
import { systemClock } from '../../platform/clock.ts'
import { databaseMetrics } from '../../platform/database-metrics.ts'
import { createJobs, type Jobs } from '../../platform/job-runner/create-jobs.ts'
import type { LogStore } from '../../platform/log-store/log-store.ts'
import { limitDrivers } from '../drivers/driver-limits.ts'
import { createExposition } from '../metrics/exposition.ts'
import { diskMetrics, instanceMetrics } from '../metrics/instance-metrics.ts'
import { withMetricsOf } from '../metrics/worker-metrics.ts'
import { absentDrivers, absentParts } from './absent-drivers.ts'
import { assembleModules } from './assemble-modules.ts'
import type { assembleRunning } from './assemble-running.ts'
import type { Common, Module, Parts } from './parts.ts'
import { createWorkerView } from './worker-view.ts'

export type { Parts }

export interface Assembled {
  /** The HTTP server. It is created at its first use, since mounting the routes takes most of the time of assembling. */
  readonly app: FastifyInstance
  access: ReturnType<typeof createAccess>
  gitHost: ReturnType<typeof createGitHost>
  projects: ReturnType<typeof createProjects>
  git: Git
  /** The log store for project output and requests; `close` closes it. */
  logStore: LogStore
  jobs: Jobs
  /** The edge and the deployments; absent without drivers, and in an API process. */
  running: ReturnType<typeof assembleRunning> | undefined
  /** Loaders of the objects that calls name; a kind without one belongs to a module that is not built yet. */
  loaders: Loaders
  /** `module.row` of every route with a handler; the others answer 501. */
  builtRows: ReadonlySet<string>
  /** See `AccessDeps`. */
  isSingleUser: boolean
  publicUrl(): string
  /** Number of event streams that clients read from this process. */
  openStreams(): number
  /** Ends open streams, then waits for requests in progress. */
  stopAnswering(): Promise<void>
  /** Stops answering and closes all resources; the last call. */
  close(): Promise<void>
}

/** Creates the instance from its config: drivers, modules, server. It does not listen and runs no job yet. */
export function assemble(given: Parts): Assembled {
  const parts = given.worker ? { ...given, ...absentParts(given.config), drivers: absentDrivers() } : given
  const { config, version, database, secretBox, scrubber, logger, clock = systemClock } = parts
  let app: FastifyInstance | undefined
  const publicUrl = () => config.publicUrl ?? `http://${config.host}:${portOf(app) ?? config.port}`
  const worker = given.worker && createWorkerView({ database, config })
  const drivers = worker ? parts.drivers : parts.drivers && limitDrivers(parts.drivers, logger)
  const localIsolation = () => (worker ? undefined : drivers?.runtimes.for(null).isolation)
  const isolation = () => worker?.isolation() ?? localIsolation()
  const isSingleUser = localIsolation()?.kind === 'none' && !config.trustEveryone
  const limiter = new RateLimiter(() => clock.now().getTime(), { scale: config.rateLimitScale, ...parts.rateLimits })
  const stopSharing = limiter.share(database.signals)
  const processKeys = parts.processKeys ?? { api: [], edge: [randomBytes(24).toString('base64url')] }
  const control = () => {
    const port = portOf(app) ?? config.port
    return port === 0 ? null : { host: connectAddress(config.host), port, key: processKeys.edge[0] as string }
  }
  const common: Common = { database, clock, log: logger, secretBox, scrubber, publicUrl }
  const assembled = assembleModules(parts, { common, limiter, drivers, isolation, isSingleUser, control, worker })
  const { modules, access, gitHost, projects, git, logStore, cloud, running } = assembled

  const loaders: Loaders = Object.assign({}, ...Object.values(modules).map(({ loaders }) => loaders))
  const { authenticator, streamTokens } = access
  const stopping = new AbortController()
  const streams = new OpenStreams({
    authenticator,
    loaders,
    signals: database.signals,
    log: logger,
    everyMs: parts.streamCheckMs,
  })
  const mounting: MountDeps = {
    mode: config.mode,
    authenticator,
    loaders,
    limiter,
    auditLog: access.auditLog,
    spendStreamToken: streamTokens.spend,
    useUploadToken: streamTokens.use,
    noteStreamToken: streamTokens.note,
    stopping: stopping.signal,
    reads: new ReadSlots(),
    streams,
    // The worker answers while an organisation is linked to a cloud.
    ...(cloud && (worker ? { hasCloudLinks: cloud.hasLinks } : { cloud: cloud.proxy })),
    worker: parts.worker,
    refreshCopies: worker?.refresh,
  }
  const apiMetrics = new ApiMetrics()
  const jobs = jobsOf(modules, running, parts, common)
  const sources = [
    ...[instanceMetrics({ version, mode: config.mode }), diskMetrics(config.dataDir), databaseMetrics(database)],
    ...(config.role === 'worker' ? [] : [apiMetrics.source]),
    // An API process reports on itself; the worker on projects, jobs and the edge.
    ...(worker ? [] : [jobs.metrics, ...Object.values(modules).flatMap(({ metrics }) => metrics ?? [])]),
    ...(worker ? [] : (running?.edgeMetrics ?? [])),
  ]
  // The two processes of one instance are one target of a scraper.
  const renderMetrics =
    parts.worker && config.workerUrl === null
      ? withMetricsOf(parts.worker, createExposition([apiMetrics.source], logger, { ofProcess: false }))
      : createExposition(sources, logger)
  const createApp = (): FastifyInstance => {
    const server = createHttpServer(
      {
        ...{ version, logger, apiMetrics, trustedProxies: config.trustedProxies, isWorker: config.role === 'worker' },
        forwarderKeys: processKeys,
        mcp: { publicUrl, now: () => clock.now().getTime(), signer: secretBox, signals: database.signals },
      },
      mapValues(modules, ({ handlers }) => handlers),
      mounting,
    )
    server.addHook('onReady', () => gitHost.refreshApplications())
    if (parts.worker) mountWorkerRows(server, Object.values(projects.addresses.rows), parts.worker, stopping.signal)
    else mountRows(server, projects.addresses.rows, projects.addresses.handlers, mounting)
    serveMetrics(server, { token: config.metricsToken, render: renderMetrics }, mounting)
    return server
  }
  let closed: Promise<void> | undefined
  const stopAnswering = () => {
    stopping.abort()
    streams.close()
    closed ??= app?.close() ?? Promise.resolve()
    return closed
  }
  return {
    ...{ access, gitHost, projects, git, logStore, loaders, isSingleUser, publicUrl },
    running: worker ? undefined : running,
    get app() {
      app ??= createApp()
      return app
    },
    openStreams: () => streams.size,
    jobs,
    builtRows: rowsWithHandler(modules),
    stopAnswering,
    close: async () => {
      await stopAnswering()
      stopSharing()
      await assembled.close()
    },
  }
}

/** The address to reach a server that listens on all addresses. */
const connectAddress = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host)

function jobsOf(modules: Modules, running: Assembled['running'], { config }: Parts, { database, clock, log }: Common): Jobs {
  const all = Object.values(modules)
  const jobs = createJobs({
    ...{ database, clock, log },
    signals: database.signals,
    deps: undefined,
    jobs: [...all.flatMap(({ jobs }) => jobs ?? []), ...(running?.edgeJobs ?? [])],
    leaseMs: config.jobLeaseSeconds * 1000,
  })
  const start = async () => {
    for (const schedule of all.flatMap(({ schedules }) => schedules ?? [])) await jobs.schedules.set(schedule)
    await jobs.start()
  }
  return { ...jobs, start }
}

type Modules = Partial<Record<ModuleName, Module>>

const mapValues = <V, R>(record: Record<string, V>, map: (value: V) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))

const rowsWithHandler = (modules: Record<string, Module>): ReadonlySet<string> =>
  new Set(Object.entries(modules).flatMap(([module, { handlers }]) => Object.keys(handlers).map((row) => `${module}.${row}`)))

function portOf(app: FastifyInstance | undefined): number | undefined {
  const address = app?.addresses()[0] as { port?: number } | undefined
  return address?.port
}
