import { join } from 'node:path'
import type { ModuleName, RateLimitName } from '@berth/contract'
import type { FastifyInstance } from 'fastify'
import type { CloudApi } from '../drivers/cloud-api/cloud-api.ts'
import { createCloudApi } from '../drivers/cloud-api/http-cloud-api.ts'
import type { Dns } from '../drivers/dns/dns.ts'
import { createNameServers } from '../drivers/dns/name-servers.ts'
import { createGit, type Git } from '../drivers/git/git.ts'
import { publicAddresses } from '../drivers/git/public-addresses.ts'
import { folderReader } from '../drivers/reader/folder-reader.ts'
import { createServerReader } from '../drivers/runtime/server/read-server.ts'
import { createRunCommand } from '../drivers/shell/run-command.ts'
import { publicNames, type Resolve } from '../drivers/web-request/resolve.ts'
import type { Gatekeeper } from '../http/guard.ts'
import type { Loaders } from '../http/handler.ts'
import { createInstance } from '../http/health.ts'
import { mountRows } from '../http/mount.ts'
import type { MountDeps } from '../http/mount-deps.ts'
import { OpenStreams } from '../http/open-streams.ts'
import { RateLimiter } from '../http/rate-limit.ts'
import { createHttpServer } from '../http/server.ts'
import { createAccess } from '../modules/access/index.ts'
import { createBackups } from '../modules/backups/index.ts'
import { createCloud } from '../modules/cloud/index.ts'
import { createDeployments, type DeploymentsDeps, servedState, usesOfServer } from '../modules/deployments/index.ts'
import { createGitEvents, follow as followDeployment } from '../modules/git-events/index.ts'
import { type CloudLinks, createGitHost } from '../modules/git-host/index.ts'
import { createMigration } from '../modules/migration/index.ts'
import { createDeliveryDrivers, createNotifications, type NotificationsDeps } from '../modules/notifications/index.ts'
import { createProjects, ownedProjects, type ProjectPorts, projectsOnServer } from '../modules/projects/index.ts'
import { createEdge } from '../modules/routing/index.ts'
import { createServers, type ServerPorts, type ServersDeps } from '../modules/servers/index.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import type { Database } from '../platform/database.ts'
import { createJobs, type Jobs } from '../platform/jobs/create-jobs.ts'
import type { Job } from '../platform/jobs/declare.ts'
import type { Schedule } from '../platform/jobs/schedules.ts'
import { createLogStore, type LogStore } from '../platform/log-store/log-store.ts'
import type { Scrubber } from '../platform/secrets/scrubber.ts'
import type { SecretBox } from '../platform/secrets/secret-box.ts'
import type { Config } from './config.ts'
import { limitDrivers, limitReader } from './driver-limits.ts'
import type { Drivers } from './drivers.ts'
import { createGitHosts, type GitHostDrivers } from './git-hosts.ts'
import type { Logger } from './logger.ts'

/** What an instance is made of; tests bring their own database, clock and drivers. */
export interface Parts {
  config: Config
  version: string
  database: Database
  secretBox: SecretBox
  /** The one that the logger writes through. */
  scrubber: Scrubber
  logger: Logger
  clock?: Clock
  rateLimits?: Partial<Record<RateLimitName, number>>
  /** Between two looks at who reads the open streams. */
  streamLookMs?: number
  /** Without them nothing is deployed or served: those routes answer 501. */
  drivers?: Drivers
  /** What a test puts in the place of the modules above projects. */
  projectPorts?: ProjectPorts
  git?: Git
  dns?: Dns
  cloudApi?: CloudApi
  gitHosts?: GitHostDrivers
  /** Where a cloud signs in at git hosts for this instance. */
  cloudLinks?: CloudLinks
  /** What names mean to a guarded git; a test brings its own. */
  resolve?: Resolve
  /** Whoever brings one closes it. */
  logStore?: LogStore
  /** What reads a server; a test brings its own. */
  serverReader?: ServersDeps['readerOf']
  /** How notifications leave, and what is watched for some; a test brings its own. */
  deliveryDrivers?: NotificationsDeps['drivers']
  watched?: NotificationsDeps['watched']
}

/** What a module hands in: handlers by the names of its rows, loaders of what its paths name, its durable work. */
interface Module {
  handlers: object
  loaders?: Loaders
  jobs?: readonly Job<unknown, undefined>[]
  /** Set before the jobs start. */
  schedules?: readonly Schedule<unknown>[]
}

export interface Assembled {
  app: FastifyInstance
  access: ReturnType<typeof createAccess>
  gitHost: ReturnType<typeof createGitHost>
  projects: ReturnType<typeof createProjects>
  git: Git
  /** What runs and what is asked of projects is written here; `close` closes it. */
  logStore: LogStore
  jobs: Jobs
  /** The edge and what runs; absent without drivers. */
  running: ReturnType<typeof assembleRunning> | undefined
  /** How the guard finds what a call names; a kind without one belongs to a module that is not built yet. */
  loaders: Loaders
  /** `module.row` of every row that has a handler; the others answer 501. */
  builtRows: ReadonlySet<string>
  /** See `AccessDeps`. */
  onlyOnePerson: boolean
  publicUrl(): string
  /** Ends open streams, then waits for requests under way. */
  stopAnswering(): Promise<void>
  /** The same, and closes what was opened here; the last call. */
  close(): Promise<void>
}

/** Config → drivers → modules → server. Nothing listens and no job runs yet. */
export function assemble(parts: Parts): Assembled {
  const { config, version, database, secretBox, scrubber, logger, clock = systemClock, rateLimits } = parts
  const stopping = new AbortController()
  const publicUrl = () => config.publicUrl ?? `http://${config.host}:${portOf(app) ?? config.port}`
  const drivers = parts.drivers && limitDrivers(parts.drivers, logger)
  const isolation = () => drivers?.runtimes.for(null).isolation
  const onlyOnePerson = isolation()?.kind === 'none' && !config.trustEveryone
  const limiter = new RateLimiter(() => clock.now().getTime(), { scale: config.rateLimitScale, ...rateLimits })
  const owned = (organizationId: string, ids: readonly string[]) => ownedProjects(database.db, organizationId, ids)
  const delivery = parts.deliveryDrivers ?? createDeliveryDrivers(config)
  const access = createAccess({
    database,
    clock,
    log: logger,
    limiter,
    secretBox,
    publicUrl,
    onlyOnePerson,
    ownedProjects: owned,
    mailer: delivery.mailer,
    organizationsEach: config.quotas.organizations,
    quotasOf: (organizationId) => projects.quotas.show(organizationId),
    ...(config.mode === 'cloud' ? { signUp: { mode: config.signUp, perHour: config.signUpsPerHour } } : {}),
  })
  const { gatekeeper, streamTokens, roleOf } = access
  const common = { database, clock, log: logger, secretBox, scrubber, publicUrl }
  const projectPorts: ProjectPorts = { ...parts.projectPorts }
  const git = parts.git ?? gitOf(config, parts.resolve)
  const dns = parts.dns ?? createNameServers({ servers: config.dnsServers })
  const logStore = parts.logStore ?? logStoreOf(config, logger)
  const projects = createProjects({ ...common, streamTokens, roleOf, git, dns, logStore, settings: config, projectPorts })
  const { isOperator } = gatekeeper
  const cloudApi = parts.cloudApi ?? createCloudApi()
  const cloud = config.mode === 'self-hosted' ? createCloud({ ...common, api: cloudApi, isOperator }) : undefined
  if (cloud) projectPorts.cloud ??= cloud.projects
  const serverPorts: ServerPorts = {}
  const readerOf = parts.serverReader
  const servers = drivers && assembleServers(drivers, { ...common, isOperator, settings: config, ports: serverPorts, readerOf })
  if (servers) projectPorts.servers ??= servers.directory
  const migration =
    drivers && servers && config.mode === 'self-hosted'
      ? createMigration({
          ...common,
          projects,
          runtimes: drivers.runtimes,
          readerOf: servers.reader,
          readStack: (files, readFor) => folderReader.readStack(files, readFor),
        })
      : undefined
  if (migration) projectPorts.parts = [...(projectPorts.parts ?? []), migration.part]
  const gitHost = createGitHost({
    ...common,
    ...(parts.gitHosts ?? createGitHosts(config)),
    mode: config.mode,
    people: { ...access, isOperator },
    cloudLinks: parts.cloudLinks ?? cloud?.gitHostLinks,
  })
  projectPorts.gitHost ??= gitHost
  const running =
    drivers &&
    assembleRunning(drivers, {
      ...{ ...common, projects, git, logStore, config, projectPorts, isOperator, version, gitHost },
      predecessors: migration ? { containers: migration.predecessors } : {},
    })
  serverPorts.usesOf = async (db, serverId) => [
    ...(await projectsOnServer(db, serverId)).map(({ name }) => `the project ${name}`),
    ...(await usesOfServer(db, serverId)),
  ]
  const modules: Partial<Record<ModuleName, Module>> = {
    instance: createInstance({ version, mode: config.mode, isolation, isReady: access.isReady }),
    access,
    gitHost,
    projects,
    ...running?.modules,
    ...(servers ? { servers } : {}),
    ...(migration ? { migration } : {}),
    ...(cloud ? { cloud } : {}),
    notifications: createNotifications({
      ...common,
      settings: { slackHost: config.slackHost },
      drivers: delivery,
      watched: {
        tokens: {
          expiring: async (...span) => [
            ...(await access.expiringTokens(...span)),
            ...((await cloud?.expiringTokens(...span)) ?? []),
          ],
        },
        ...(running ? { certificates: running.certificates } : {}),
        ...(servers ? { servers: servers.watched } : {}),
        ...parts.watched,
      },
    }),
  }

  const loaders: Loaders = Object.assign({}, ...Object.values(modules).map(({ loaders }) => loaders))
  const streams = new OpenStreams({ gatekeeper, loaders, signals: database.signals, log: logger, everyMs: parts.streamLookMs })
  const mounting: MountDeps = {
    mode: config.mode,
    gatekeeper,
    loaders,
    limiter,
    recordAudit: access.recordAudit,
    spendStreamToken: streamTokens.spend,
    noteStreamToken: streamTokens.note,
    stopping: stopping.signal,
    streams,
    ...(cloud ? { elsewhere: cloud.elsewhere } : {}),
  }
  const app = createHttpServer(
    { version, logger, trustedProxies: config.trustedProxies },
    mapValues(modules, ({ handlers }) => handlers),
    mounting,
  )
  mountRows(app, projects.addresses.rows, projects.addresses.handlers, mounting)
  const jobs = createJobs({
    database,
    signals: database.signals,
    clock,
    log: logger,
    deps: undefined,
    jobs: [...Object.values(modules).flatMap(({ jobs }) => jobs ?? []), ...(running?.edgeJobs ?? [])],
    leaseMs: config.jobLeaseSeconds * 1000,
  })
  const start = async () => {
    for (const schedule of Object.values(modules).flatMap(({ schedules }) => schedules ?? [])) await jobs.schedules.set(schedule)
    await jobs.start()
  }
  let closed: Promise<void> | undefined
  const stopAnswering = () => {
    stopping.abort()
    streams.close()
    closed ??= app.close()
    return closed
  }
  const close = async () => {
    await stopAnswering()
    cloudApi.close()
    await servers?.close()
    if (!parts.logStore) await logStore.close()
  }
  return {
    app,
    access,
    gitHost,
    projects,
    git,
    logStore,
    jobs: { ...jobs, start },
    running,
    loaders: mounting.loaders,
    builtRows: rowsWithHandler(modules),
    onlyOnePerson,
    publicUrl,
    stopAnswering,
    close,
  }
}

type Common = Pick<Parts, 'database' | 'secretBox' | 'scrubber' | 'config'> & { clock: Clock; log: Logger; publicUrl(): string }

const assembleServers = (
  { links }: Drivers,
  { readerOf, ...deps }: Omit<ServersDeps, 'links' | 'readerOf'> & { readerOf: ServersDeps['readerOf'] | undefined },
) => createServers({ ...deps, links, readerOf: readerOf ?? ((serverId) => limitReader(createServerReader(links.for(serverId)))) })

/** The part that builds, runs and serves. It tells the projects module what it knows, as its neighbour. */
function assembleRunning(
  drivers: Drivers,
  {
    config,
    projectPorts,
    projects,
    git,
    logStore,
    isOperator,
    version,
    predecessors,
    gitHost,
    ...common
  }: Common & {
    predecessors: DeploymentsDeps['predecessors']
    version: string
    gitHost: ReturnType<typeof createGitHost>
    isOperator: Gatekeeper['isOperator']
    projectPorts: ProjectPorts
    git: Git
    logStore: LogStore
    projects: ReturnType<typeof createProjects>
  },
) {
  const served = () => servedState(common.database.db)
  const edge = createEdge({ ...common, driver: drivers.edge, acme: drivers.acme, logStore, served, settings: config })
  const guards: DeploymentsDeps['guards'] = {}
  const deployments = createDeployments({
    guards,
    ...common,
    ...drivers,
    git,
    logStore,
    projects,
    edge: edge.switch,
    follow: followDeployment,
    settings: { ...config, githubUrl: config.github.webUrl },
    predecessors,
  })
  const gitEvents = createGitEvents({ ...common, gitHost, projects, deployments })
  const { stores, archives } = drivers
  const { data } = deployments
  const backups = createBackups({ ...common, stores, archives, data, projects, version, isOperator, settings: config })
  guards.beforeStart = backups.beforeDeploy
  projectPorts.deployments ??= deployments.reader
  projectPorts.allotted ??= deployments.allotted
  projectPorts.running ??= deployments.running
  projectPorts.power ??= deployments.power
  projectPorts.secrets ??= deployments.secrets
  projectPorts.edge ??= edge.routes
  projectPorts.parts = [backups.part, deployments.part, ...(projectPorts.parts ?? [])]
  edge.onWake((projectId) => void deployments.wake(projectId))
  return {
    modules: { deployments, gitEvents, backups },
    edgeJobs: edge.jobs,
    certificates: { expiring: edge.expiring },
    ports: () => edge.routes.ports(),
    async start(abort: AbortSignal): Promise<void> {
      await deployments.prepare()
      await edge.start()
      await deployments.start(abort)
    },
    async stop(): Promise<void> {
      await edge.stop()
      await deployments.stop()
      await drivers.runtimes.close()
    },
  }
}

/** On the cloud service an address of a repository opens no way into the service's own networks. */
const gitOf = ({ dataDir, environment, mode }: Config, resolve: Resolve = publicNames()): Git =>
  createGit({
    shell: createRunCommand(environment),
    workFolder: join(dataDir, 'git'),
    ...(mode === 'cloud' ? { permittedAddresses: publicAddresses(resolve) } : {}),
  })

const logStoreOf = ({ dataDir }: Config, logger: Logger): LogStore =>
  createLogStore({ folder: join(dataDir, 'logs'), onError: (err, what) => logger.error({ err }, `log store: ${what}`) })

const mapValues = <V, R>(record: Record<string, V>, map: (value: V) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))

const rowsWithHandler = (modules: Record<string, Module>): ReadonlySet<string> =>
  new Set(Object.entries(modules).flatMap(([module, { handlers }]) => Object.keys(handlers).map((row) => `${module}.${row}`)))

function portOf(app: FastifyInstance): number | undefined {
  const address = app.addresses()[0] as { port?: number } | undefined
  return address?.port
}
