import type { Deployment } from '@berth/contract'
import type { Db } from '../../platform/db/schema.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import { Every } from '../../platform/jobs/every.ts'
import { KeyedMutex } from '../../platform/keyed-mutex.ts'
import { ownedProjects } from '../projects/index.ts'
import { refreshAddresses, watchAddresses } from './addresses.ts'
import { cleanUpJob } from './data/clean-up.ts'
import { projectData } from './data/project-data.ts'
import { deploymentsPart } from './data/project-part.ts'
import { removeVolumeJob } from './data/volumes.ts'
import { deploymentMetrics } from './deployment-metrics.ts'
import type { DeploymentsDeps } from './deps.ts'
import { deploymentsHandlers } from './handlers.ts'
import { listLive } from './live-environments.ts'
import { LogFollower } from './logs/log-follower.ts'
import { UsageSampler } from './logs/usage-sampler.ts'
import { reservedReader } from './plan/reserved-resources.ts'
import { projectPower } from './power/power.ts'
import { putIdleToSleep, wakeJob } from './power/sleep.ts'
import { ProjectScrubbers } from './project-scrubbers.ts'
import { cancelDeployment } from './request/cancel.ts'
import { checkImagesJob, checkImagesSchedule } from './request/check-images.ts'
import { findHook } from './request/deploy-hooks.ts'
import { requestDeployment, resumeDeployment } from './request/request-deployment.ts'
import { type DeploymentRequest, requestMany } from './request/request-many.ts'
import { removeLinkNetwork } from './run/link-networks.ts'
import { taskInstances } from './run/task-instances.ts'
import { deployJob } from './steps/deploy-job.ts'
import { findDeployment, findDeploymentOf, findNewest } from './store.ts'
import { readHistory, writeHistory } from './summary/history.ts'
import { deploymentReader, runningProjects } from './summary/summary.ts'
import { findVolume } from './volume-store.ts'
import { watchExits } from './watch/instance-exits.ts'
import { markDownAsWaking, recover, recoverServer, restartWaking, serversInUse, stopLocalInstances } from './watch/recover.ts'
import { Watch } from './watch/watch.ts'
import { standardWatchIntervals } from './watch-intervals.ts'

export type { DataUnit, ProjectData } from './data/project-data.ts'
export { DeployFailed } from './deploy-failed.ts'
export type { DeploymentsDeps, EdgeSwitch, OldContainers } from './deps.ts'
export { hasCompleted } from './health/health.ts'
export { liveProjectsHere } from './live-environments.ts'
export { deployedSource } from './plan/deployed.ts'
export { listEngineData } from './plan/engine-data.ts'
export { hooksOf } from './request/deploy-hooks.ts'
export type { DeploymentRequest } from './request/request-many.ts'
export { type TaskEnd, type TaskInstance, type TaskInstances, TaskNotStarted } from './run/task-instances.ts'
export { assignToMachine, assignToOrganizations, listServerUses, movePaths, servedState } from './store.ts'
export { adoptVolume } from './volume-store.ts'
export { stopLocalInstances } from './watch/recover.ts'

type Options = Omit<DeploymentsDeps, 'locks' | 'scrubbers' | 'watchIntervals'> & Partial<Pick<DeploymentsDeps, 'watchIntervals'>>

/**
 * Deployments: from source to a URL. A *deployment* runs *steps*. It builds *artifacts* and starts *instances*, one per *unit*
 * (the project itself or one of its services). The *live environment* records which deployment serves; the edge computes its
 * routing table from that.
 */
export function createDeployments({ watchIntervals = standardWatchIntervals, ...options }: Options) {
  const deps: DeploymentsDeps = { ...options, watchIntervals, locks: new KeyedMutex(), scrubbers: new ProjectScrubbers(options) }
  const follower = new LogFollower(deps)
  const power = projectPower(deps)
  let stopListening = () => {}
  let recovery: Promise<unknown> = Promise.resolve()
  const watch = new Watch(deps)
  const watchTimer = new Every(deps.watchIntervals.tickMs / 1000, (abort) => watch.tick(abort), deps.log)
  const sampler = new UsageSampler(deps)
  const usageTimer = new Every(usageSampleSeconds, (abort) => sampler.check(abort), deps.log)
  const sleepTimer = new Every(sleepCheckSeconds(deps), (abort) => putIdleToSleep(deps, abort), deps.log)
  const services = [follower, watchTimer, sleepTimer, usageTimer]
  return {
    handlers: deploymentsHandlers(deps),
    metrics: [deploymentMetrics({ db: deps.database.db, usage: sampler.totals, metered: deps.projects.metered })],
    loaders: {
      deployment: ({ id }: Record<string, string>, { organizationId }: { organizationId: string }) =>
        findDeploymentOf(deps.database.db, organizationId, id as string),
      deployHook: async ({ id, hookId }: Record<string, string>, { organizationId }: { organizationId: string }) =>
        (await ownedProjects(deps.database.db, organizationId, [id as string])).has(id as string)
          ? findHook(deps.database.db, id as string, hookId as string)
          : undefined,
      volume: async ({ id, volumeId }: Record<string, string>, { organizationId }: { organizationId: string }) =>
        (await ownedProjects(deps.database.db, organizationId, [id as string])).has(id as string)
          ? findVolume(deps.database.db, id as string, volumeId as string)
          : undefined,
    },
    jobs: [deployJob(deps), cleanUpJob(deps), wakeJob(deps), removeVolumeJob(deps), checkImagesJob(deps)],
    schedules: [checkImagesSchedule],
    reader: deploymentReader(deps),
    reserved: reservedReader,
    running: runningProjects(deps),
    power,
    part: deploymentsPart(deps),
    /** Earlier deployments, for a project that moves to another instance. */
    history: {
      read: (db: Db, projectId: string) => readHistory(db, projectId),
      write: (db: Db, projectId: string, history: readonly Deployment[]) =>
        writeHistory(db, projectId, history, deps.clock.now().getTime()),
    },
    /** Volumes and services, for backups. */
    data: projectData(deps),
    /** Instances for commands of scheduled tasks. */
    tasks: taskInstances(deps),
    secrets: deps.scrubbers,
    /** Removes the network of a deleted link. */
    removeLinkNetwork: (linkId: string, serverId: string | null, abort: AbortSignal) =>
      removeLinkNetwork(linkId, serverId, deps, abort),
    find: (id: string) => findDeployment(deps.database.db, id),
    newestOf: (projectId: string, environment: string) => findNewest(deps.database.db, projectId, environment),
    deploy: (projectId: string, options: Parameters<typeof requestDeployment>[1]) => requestDeployment(projectId, options, deps),
    resume: (deploymentId: string) => resumeDeployment(deploymentId, deps),
    cancel: (deployment: DeploymentRow, message: string) => cancelDeployment(deployment, deps, message),
    deployMany: (requests: readonly DeploymentRequest[]) => requestMany(requests, deps),
    /** Called when a request waits for a sleeping project. */
    wake: (projectId: string) => deps.database.transaction((transaction) => power.wake(projectId, transaction)),
    /** Must complete before the edge starts. */
    async prepare(): Promise<void> {
      await refreshAddresses(deps)
      await markDownAsWaking(deps)
    },
    async start(abort: AbortSignal): Promise<void> {
      const unsubscribers = [watchAddresses(deps), watchExits(deps)]
      const stopListeningForServers = deps.runtimes.onReconnect((serverId) => void recoverServer(serverId, deps, abort))
      stopListening = () => {
        for (const unsubscribe of unsubscribers) unsubscribe()
        stopListeningForServers()
      }
      const cleanUp = await recover(deps, abort)
      const cleanedUp = cleanUp().catch((error: unknown) => {
        if (!abort.aborted) deps.log.warn({ err: error }, 'deployments: cleanup after a crash failed')
      })
      const serverRecoveries = (await serversInUse(deps)).map((serverId) => recoverServer(serverId, deps, abort))
      recovery = Promise.all([restartWaking(deps, abort), cleanedUp, ...serverRecoveries])
      for (const part of services) part.start()
    },
    /** Whether the edge has a project of this machine to serve or to wake. */
    servesProjects: async () => (await listLive(deps.database.db)).some(({ state }) => state !== 'stopped'),
    stop: async ({ keepRunning, graceSeconds }: { keepRunning: boolean; graceSeconds: number }) => {
      stopListening()
      await Promise.all([recovery, ...services.map((part) => part.stop())])
      await watch.stop()
      if (!keepRunning) await stopLocalInstances(deps.runtimes.for(null), graceSeconds)
    },
  }
}

const usageSampleSeconds = 15

/** A quarter of the idle time, so that a project sleeps soon after it becomes idle. */
const sleepCheckSeconds = ({ settings }: DeploymentsDeps) => Math.max(1, Math.min(15, Math.floor(settings.sleepAfterSeconds / 4)))
