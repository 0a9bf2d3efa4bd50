import { chmodSync, existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import manifest from '../../package.json' with { type: 'json' }
import { serveDashboard } from '../http/dashboard.ts'
import { WorkerProxy } from '../http/worker-proxy.ts'
import { assignToMachine, assignToOrganizations } from '../modules/deployments/index.ts'
import { ConfigError } from '../platform/config-error.ts'
import type { Db } from '../platform/db/schema.ts'
import { isMissingTable } from '../platform/db/violations.ts'
import { type ClaimOptions, claimMachine, type MachineLease, refuseOtherMachine } from '../platform/machines/machine-lease.ts'
import type { MachineFacts } from '../platform/machines/machine-store.ts'
import { socketAddress } from '../platform/socket-path.ts'
import { collectAfterStart } from '../platform/steady-memory.ts'
import { assemble } from './assemble/assemble.ts'
import type { StopOptions } from './assemble/assemble-running.ts'
import { backupKeyFile } from './backup-key.ts'
import type { Config } from './config/config.ts'
import { openDataFolder } from './data-folder.ts'
import { createDrivers, type Drivers } from './drivers/drivers.ts'
import { type InstanceContext, openInstanceContext } from './instance-context.ts'
import { readMachineIdentity } from './machine-identity.ts'
import { updateMovedPaths } from './moved-folder.ts'
import type { NewerVersions } from './upgrade/version-check.ts'

export interface Serving {
  url: string
  /** URL of projects, with `<slug>` as placeholder for a project's name. */
  projectsUrl: string
  setupUrl: string | null
  /** The isolation of projects, as text. */
  isolation: string
  /** Path of the backup key, if it exists. */
  backupKey: string | null
  /** Resolves with a message when another machine has taken over the projects: the caller must stop this process. */
  lost: Promise<string>
  /**
   * Finishes requests and returns jobs to the queue; takes at most ten seconds. Unless they are kept running, the edge and the
   * projects on this machine are stopped too.
   */
  stop(options: StopOptions): Promise<{ keptRunning: boolean }>
}

/** The supervisor of an API process and a worker that are one instance. */
export interface Supervisor {
  pid: number
  /** The worker has opened the database, at the schema of this version: the API process may open it too. */
  onDatabaseOpen?(): void
  /** The socket of an API process that has ended: connections that came since then wait in it. */
  socket?: ListeningSocket | undefined
  /** The API process listens on a socket of its own. */
  onListening?(socket: ListeningSocket): void
}

/** A handle of Node that processes pass to each other. */
export interface ListeningSocket {
  close(): void
}

export interface ServeOptions {
  takeOver?: boolean
  /** Set in a supervised process: the worker listens on a socket in the data folder, for the API process beside it. */
  supervisor?: Supervisor
  newerVersions?: NewerVersions
}

/** Starts the whole instance. Rejects, with everything closed again, when a part cannot start. */
export async function serve(
  config: Config,
  { takeOver = false, supervisor, newerVersions }: ServeOptions = {},
): Promise<Serving> {
  const closers: (() => unknown)[] = []
  // If the start fails, projects that ran before it keep running.
  let stopOptions: StopOptions = { keepRunning: 'if-adopted' }
  let keptRunning = false
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    const isApi = config.role === 'api'
    // An API process may share the folder of its worker, which has locked it.
    const folder = isApi ? null : await openDataFolder(config.dataDir, { version: manifest.version, pid: supervisor?.pid })
    if (isApi) requireWorkerFolder(config)
    closers.push(() => folder?.release())
    const context = await openInstanceContext(config, {
      signals: isApi ? 'client' : 'hub',
      beforeMigrating: isApi ? { wait: true } : { check: (db) => refuseOtherMachineHere(config, db, takeOver) },
    })
    closers.push(context.close)
    supervisor?.onDatabaseOpen?.()
    for (const warning of config.warnings) context.logger.warn(warning)
    const machine = isApi ? null : await claimHere(context, takeOver)
    closers.push(() => machine?.release())
    if (isApi) requireWorker(config, supervisor)
    const workload = isApi ? workerOf(config, context) : await openWorkload(config, context)
    closers.push(() => workload.worker?.close())
    await machine?.describe(() => machineFacts(workload.drivers?.runtimes))
    const assembled = assemble({
      ...context,
      ...workload,
      version: manifest.version,
      machineId: machine?.id ?? null,
      newerVersions,
    })
    closers.push(assembled.close)
    await refuseTooManyUsers(assembled)
    const origins = { upload: uploadOrigin(config), form: new URL(config.github.webUrl).origin }
    await serveDashboard(assembled.app, dashboardFolder(), origins)
    const stopping = new AbortController()
    // The edge is a separate process: while it starts, the routes are prepared here.
    await Promise.all([assembled.running?.start(stopping.signal), assembled.app.ready()])
    closers.push(async () => {
      stopping.abort()
      keptRunning = (await assembled.running?.stop(stopOptions))?.keptRunning ?? false
    })
    if (!isApi) await assembled.jobs.start()
    closers.push(() => (isApi ? undefined : assembled.jobs.stop({ graceMs: 5_000 })))
    const { setupUrl } = await listen(assembled, config, supervisor)
    closers.push(assembled.stopAnswering)
    // The edge forwards to the control plane's port, which is known only now if it is chosen freely.
    if (config.port === 0) await assembled.running?.syncEdge()
    closers.push(collectAfterStart())
    return {
      url: assembled.publicUrl(),
      projectsUrl: projectsUrl(config, assembled.running?.ports()),
      setupUrl,
      isolation:
        workload.drivers?.runtimes.for(null).isolation.message ??
        `projects run on the worker at ${config.workerUrl ?? workerSocket(config)}`,
      backupKey: existsSync(backupKeyFile(config.dataDir)) ? backupKeyFile(config.dataDir) : null,
      lost: machine?.lost ?? new Promise(() => undefined),
      stop: async (options) => {
        stopOptions = options
        await closeAll()
        return { keptRunning }
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** Refuses a data folder without a SQLite database: the worker creates it at its first start. */
function requireWorkerFolder({ databaseUrl, dataDir }: Config): void {
  if (databaseUrl !== null || existsSync(join(dataDir, 'berth.db'))) return
  const message = `BERTH_DATA_DIR is "${dataDir}", where no worker has been started. Use the worker's folder, or set BERTH_DATABASE_URL.`
  throw new ConfigError('BERTH_DATA_DIR', message)
}

/** Refuses an API process without BERTH_WORKER_URL, unless the socket of a worker on the same data folder exists. */
function requireWorker(config: Config, supervisor: Supervisor | undefined): void {
  if (config.workerUrl !== null || supervisor || existsSync(workerSocket(config))) return
  const message = `BERTH_WORKER_URL is missing, and no instance runs on ${config.dataDir}. Set it to http://<address>:<port of the worker>.`
  throw new ConfigError('BERTH_WORKER_URL', message)
}

/** Refuses the start before the schema is migrated: the machine that runs may have an earlier version. */
async function refuseOtherMachineHere(config: Config, db: Db, takeOver: boolean): Promise<void> {
  if (config.databaseUrl === null) return
  // Migration 057 has added the table.
  await refuseOtherMachine({ db, kind: 'postgres' }, readMachineIdentity(config), { takeOver }).catch((error: unknown) => {
    if (!isMissingTable(error)) throw error
  })
}

/** Makes this machine the one that runs the projects of the database. */
function claimHere({ config, database, logger: log }: InstanceContext, takeOver: boolean): Promise<MachineLease> {
  const identity = readMachineIdentity(config)
  const assign: ClaimOptions['assign'] = async (db) => {
    await assignToMachine(db, identity.id)
    await assignToOrganizations(db)
  }
  return claimMachine(database, identity, { leaseMs: config.jobLeaseSeconds * 1000, takeOver, assign, log })
}

/** How this machine runs projects, for API processes. */
function machineFacts(runtimes: Drivers['runtimes'] | undefined): MachineFacts {
  const runtime = runtimes?.for(null)
  const { kind: isolationKind = null, message: isolationMessage = null } = runtime?.isolation ?? {}
  return { runtime: runtime?.kind ?? null, isolationKind, isolationMessage }
}

/** The drivers of a process that builds and runs projects. */
async function openWorkload(config: Config, { database, logger }: InstanceContext): Promise<Workload> {
  await updateMovedPaths(config.dataDir, database.db, logger)
  return { drivers: await createDrivers(config, manifest.version, logger) }
}

/** The worker of an API process. */
const workerOf = (config: Config, { processKeys }: InstanceContext): Workload => ({
  worker: new WorkerProxy({
    at: config.workerUrl === null ? { socketPath: socketAddress(workerSocket(config)) } : { url: config.workerUrl },
    key: processKeys.api[0] as string,
  }),
})

interface Workload {
  drivers?: Drivers
  worker?: WorkerProxy
}

/** Refuses to start without isolation if several users may deploy; they were added while projects were isolated. */
async function refuseTooManyUsers({ isSingleUser, access }: ReturnType<typeof assemble>): Promise<void> {
  const message = isSingleUser ? await access.tooManyUsers() : null
  if (message) throw new ConfigError('BERTH_TRUST_EVERYONE', message)
}

async function listen({ app, access }: ReturnType<typeof assemble>, config: Config, supervisor: Supervisor | undefined) {
  // Prepared before listening, so that the first client can sign in or set the instance up.
  const firstStart = config.role === 'api' ? { setupUrl: null } : await access.prepareFirstStart(config)
  if (supervisor && config.role === 'worker') await listenOnSocket(app, workerSocket(config))
  else await listenOnPort(app, config, supervisor)
  return firstStart
}

async function listenOnPort(app: FastifyInstance, { host, port }: Config, supervisor: Supervisor | undefined): Promise<void> {
  const given = supervisor?.socket
  await app.listen({ host, ...(given ? { handle: given } : { port }) })
  // Node has no documented way to pass on a listening socket from which the receiving process accepts no connections.
  const { _handle } = app.server as unknown as { _handle: ListeningSocket }
  if (!given) supervisor?.onListening?.(_handle)
}

/** The caller has locked the data folder, so a socket that exists is left over from a process that was killed. */
async function listenOnSocket(app: FastifyInstance, path: string): Promise<void> {
  rmSync(path, { force: true })
  await app.listen({ path: socketAddress(path) })
  chmodSync(path, 0o600)
}

const workerSocket = ({ dataDir }: Config) => join(dataDir, 'worker.sock')

/** The form of free addresses: https where certificates can be issued for them. */
function projectsUrl(config: Config, ports = { http: config.edgePort, https: config.edgeTlsPort }): string {
  const isPublic = config.baseDomain.includes('.') && !config.baseDomain.endsWith('.localhost')
  const [protocol, port] = isPublic && ports.https !== null ? ['https', ports.https] : ['http', ports.http]
  const isDefault = port === (protocol === 'https' ? 443 : 80)
  return `${protocol}://<slug>.${config.baseDomain}${isDefault ? '' : `:${port}`}`
}

/** The origin that browsers upload to, if not the instance itself. */
function uploadOrigin({ mode, uploads: { bucket, endpoint, region } }: Config): string | null {
  if (mode !== 'cloud' || bucket === null) return null
  if (endpoint !== null) return new URL(endpoint).origin
  // A bucket name with dots does not match the wildcard certificate.
  return bucket.includes('.') ? `https://s3.${region}.amazonaws.com` : `https://${bucket}.s3.${region}.amazonaws.com`
}

/** The dashboard's folder: next to the built server in an installed package, next to the sources in a checkout. */
function dashboardFolder(): string {
  const manifestFile = fileURLToPath(import.meta.resolve('@berth/server/package.json'))
  return join(dirname(manifestFile), '..', 'dashboard', 'dist')
}
