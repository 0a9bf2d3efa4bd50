import type { Dns } from '../../drivers/dns/dns.ts'
import type { Git } from '../../drivers/git/git.ts'
import type { ImageRegistry } from '../../drivers/registry/image-registry.ts'
import type { Authenticator } from '../../http/guard.ts'
import { type BackupsDeps, createBackups } from '../../modules/backups/index.ts'
import { createCatalogue } from '../../modules/catalogue/index.ts'
import { createDeployments, type DeploymentsDeps, servedState } from '../../modules/deployments/index.ts'
import { createGitEvents, queueReports } from '../../modules/git-events/index.ts'
import type { createGitHost } from '../../modules/git-host/index.ts'
import { createLinks } from '../../modules/links/index.ts'
import type { createProjects, ProjectPorts } from '../../modules/projects/index.ts'
import type { createRegistries } from '../../modules/registries/index.ts'
import { createEdge, type EdgeDeps } from '../../modules/routing/index.ts'
import { createTasks } from '../../modules/tasks/index.ts'
import { createTransfers, type TransfersDeps } from '../../modules/transfers/index.ts'
import type { LogStore } from '../../platform/log-store/log-store.ts'
import type { Config } from '../config/config.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Common } from './parts.ts'
import { untransferredParts } from './untransferred-parts.ts'
import type { WorkerView } from './worker-view.ts'

export interface StopOptions {
  /** if-serving: only if projects run here. if-adopted: only if the edge already served before this control plane started. */
  keepRunning: boolean | 'if-serving' | 'if-adopted'
  /** Time between SIGTERM and SIGKILL of a project, read when the projects are stopped. */
  graceSeconds?: () => number
}

const defaultGraceSeconds = 4

/** Assembles the modules that build, run and serve projects, and fills the ports that the projects module declares. */
export function assembleRunning(
  drivers: Drivers,
  {
    config,
    projectPorts,
    projects,
    git,
    logStore,
    isOperator,
    grantedLevel,
    version,
    oldContainers,
    cloud,
    retryLimits,
    cloudBackups,
    instanceArchive,
    gitHost,
    control,
    registries,
    imageRegistry,
    dns,
    machineId,
    watchIntervals,
    worker,
    ...common
  }: Common & {
    config: Config
    oldContainers: DeploymentsDeps['oldContainers']
    cloud: TransfersDeps['cloud']
    retryLimits: TransfersDeps['retryLimits']
    /** Backups of projects that live in a linked cloud. */
    cloudBackups: BackupsDeps['ports']
    instanceArchive: BackupsDeps['instanceArchive']
    version: string
    gitHost: ReturnType<typeof createGitHost>
    control: EdgeDeps['control']
    registries: ReturnType<typeof createRegistries>
    imageRegistry: ImageRegistry
    isOperator: Authenticator['isOperator']
    grantedLevel: Authenticator['grantedLevel']
    machineId: DeploymentsDeps['machineId']
    watchIntervals: DeploymentsDeps['watchIntervals'] | undefined
    /** The worker, as an API process knows it. */
    worker: Pick<WorkerView, 'routes' | 'driverFor'> | undefined
    projectPorts: ProjectPorts
    git: Git
    dns: Dns
    logStore: LogStore
    projects: ReturnType<typeof createProjects>
  },
) {
  const served = () => servedState(common.database.db)
  const { acme, dnsChallenge, tlsProbe } = drivers
  const edge = createEdge({
    ...{ ...common, acme, dnsChallenge, tlsProbe, dns, logStore, served, control, metered: projects.metered },
    driver: drivers.edge,
    settings: config,
  })
  const guards: DeploymentsDeps['guards'] = {}
  const deployments = createDeployments({
    guards,
    ...common,
    ...drivers,
    git,
    logStore,
    projects,
    registries,
    imageRegistry,
    edge: edge.switch,
    onStatusChange: queueReports,
    machineId,
    ...(watchIntervals && { watchIntervals }),
    settings: { ...config, hostUrls: gitHost.hostUrls },
    oldContainers,
  })
  const links = createLinks({ ...common, projects, deployments, grantedLevel })
  const tasks = createTasks({ ...common, logStore, instances: deployments.tasks, settings: config })
  guards.taskInstances = tasks.runningInstances
  const gitEvents = createGitEvents({ ...common, gitHost, projects, deployments })
  const { stores, archives } = drivers
  const backupPorts: BackupsDeps['ports'] = { ...cloudBackups }
  const { data } = deployments
  const backups = createBackups({
    ...common,
    ports: backupPorts,
    stores,
    archives,
    instanceArchive,
    data,
    projects,
    version,
    isOperator,
    settings: config,
  })
  guards.beforeStart = backups.beforeDeploy
  const catalogue = createCatalogue({
    ...common,
    projects,
    deployments,
    backups,
    runtimeKind: () => drivers.runtimes.for(null).kind,
    refusesServices: () => drivers.runtimes.for(null).refusesServices,
  })
  const transfers = createTransfers({
    ...common,
    settings: config,
    stores,
    data,
    projects: projects.transfers,
    cloud,
    retryLimits,
    deployments: { ...deployments, summary: async (id) => (await deployments.reader.summaries([id])).get(id) },
    history: {
      read: async (projectId) => ({
        deployments: await deployments.history.read(common.database.db, projectId),
        ...(await backups.history.read(common.database.db, projectId)),
      }),
      write: (project, { deployments: made, ...saved }) =>
        common.database.transaction(async ({ db }) => {
          await deployments.history.write(db, project.projectId, made)
          await backups.history.write(db, project, saved)
        }),
    },
    untransferredParts: (projectId) => untransferredParts(projectId, { database: common.database, backups, registries, tasks }),
    syncRoutes: (projectId) => edge.routes.sync(projectId),
  })
  backupPorts.wasTransferredAway = transfers.hasLeft
  projectPorts.deployments ??= deployments.reader
  projectPorts.reserved ??= deployments.reserved
  projectPorts.running ??= worker ? { ...deployments.running, driverFor: worker.driverFor } : deployments.running
  projectPorts.power ??= {
    ...deployments.power,
    async takeOffline(projectId, cancelWith) {
      // A restore or a move waits for runs in progress, and continues queued ones afterwards.
      if (cancelWith !== undefined) await tasks.endRuns(projectId, 'The project was disabled')
      await deployments.power.takeOffline(projectId, cancelWith)
    },
  }
  projectPorts.pullRequests ??= gitEvents.pullRequests
  projectPorts.secrets ??= deployments.secrets
  projectPorts.edge ??= worker?.routes ?? edge.routes
  projectPorts.parts = [transfers.part, backups.part, tasks.part, deployments.part, links.part, ...(projectPorts.parts ?? [])]
  const keepsRunning = async (requested: StopOptions['keepRunning']) =>
    requested === 'if-adopted' ? edge.isAdopted() : requested === 'if-serving' ? deployments.servesProjects() : requested
  if (!worker) edge.onWake((projectId) => void deployments.wake(projectId))
  return {
    modules: { deployments, links, tasks, gitEvents, backups, catalogue, transfers },
    edgeJobs: edge.jobs,
    edgeMetrics: edge.metrics,
    certificates: { expiring: edge.expiring, ownProblems: edge.ownCertificateProblems },
    ports: () => edge.routes.ports(),
    /** Sends the current routes to the edge. */
    syncEdge: async () => void (await edge.switch.sync()),
    async start(abort: AbortSignal): Promise<void> {
      await deployments.prepare()
      await edge.start()
      await deployments.start(abort)
      await backups.start()
    },
    /** Stops the control plane's part; unless it keeps them running, also the edge and the projects on this machine. */
    async stop(
      { keepRunning: requested, graceSeconds }: StopOptions = { keepRunning: false },
    ): Promise<{ keptRunning: boolean }> {
      const keepRunning = await keepsRunning(requested)
      await edge.stop({ keepServing: keepRunning })
      await deployments.stop({ keepRunning, graceSeconds: graceSeconds?.() ?? defaultGraceSeconds })
      await drivers.runtimes.close()
      return { keptRunning: keepRunning }
    },
  }
}
