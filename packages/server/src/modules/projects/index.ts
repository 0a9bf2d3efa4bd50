import type { CreateProject, UpdateProject } from '@berth/contract'
import type { GitRemote } from '../../drivers/git/remote.ts'
import type { Caller } from '../../http/handler.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { EnvironmentRow, LinkRow, ProjectRow } from '../../platform/db/tables/projects.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import { projectTransfers } from './bundle/project-transfers.ts'
import { nowOf, type ProjectsDeps } from './deps.ts'
import { checkJob, checkSchedule } from './domains/domain-checks.ts'
import { hookJob, updateWebhookJob } from './git/hook-job.ts'
import { keepRemotes } from './git/keep-remotes.ts'
import { readRemote, remoteOf, repositoryRef } from './git/project-remote.ts'
import { removeHookJob } from './git/transfer-webhook.ts'
import { projectsHandlers } from './handlers.ts'
import { deliveryAddress } from './hostnames/delivery-address.ts'
import { enqueueWebhookChecks } from './hostnames/hook-request.ts'
import { createProject, type RecordedWith } from './lifecycle/create-project.ts'
import { createDeletion } from './lifecycle/deletion.ts'
import { createEnvironmentDeletion } from './lifecycle/environment-deletion.ts'
import { powerJob } from './lifecycle/power.ts'
import { updateProject } from './lifecycle/update-project.ts'
import { existingLinks } from './link-store.ts'
import { findDeployedLinks } from './links/link-networks.ts'
import { createLink, deleteAllLinks, deleteLink, showLink } from './links/links.ts'
import { openLinkedSecrets, openResolvedEnv } from './links/resolved-env.ts'
import { projectsLoaders } from './loaders.ts'
import { createMeteredEnvironments, projectMetrics } from './metrics/metered-environments.ts'
import { thinJob, thinSchedule } from './metrics/thin-metrics.ts'
import { resumeJob } from './operations/resume-job.ts'
import { sweepOperationsJob, sweepOperationsSchedule } from './operations/sweep-operations.ts'
import { hasDeployBranch, isBeingTransferred } from './public-queries.ts'
import { limitsOf, refuseOverQuota, showQuotas } from './quotas/quotas.ts'
import { showProject, showProjects } from './records/records.ts'
import { previewProjectRestore, restoreProject, type SavedProject, snapshotProject } from './saved/saved-project.ts'
import { findSourceUpload, isUploadMissing, restoreUpload } from './saved/saved-upload.ts'
import { openEnv, openSecrets } from './settings/env.ts'
import { environmentUrl } from './settings/environments.ts'
import { ensurePreview, type PreviewOptions } from './settings/previews.ts'
import { allEnvironments, findAnyProject, listOfRepository, type RepositoryName } from './store.ts'
import { fetchUploadById } from './uploads/stored-upload.ts'
import { storageAddresses } from './uploads/upload-address.ts'
import { claimUpload, clearEnvironmentUpload, releaseUpload, setEnvironmentUpload } from './uploads/upload-claim.ts'
import { UploadFiles } from './uploads/upload-files.ts'
import { removeUploadJob, sweepJob, sweepSchedule } from './uploads/upload-sweep.ts'
import { findUploadSession } from './uploads/uploads.ts'

export type { ProjectImport } from './bundle/import-project.ts'
export type { ProjectTransfers } from './bundle/project-transfers.ts'
export type { Source } from './deployment-source.ts'
export type { ProjectsDeps } from './deps.ts'
export { explainTls, transitionTls } from './domains/domain-tls.ts'
export { type HostUrls, hostUrlsOf } from './git-remote.ts'
export {
  aliasHostname,
  enabledServiceRoutes,
  environmentHostname,
  freeHostname,
  instanceHostname,
  isWithinDomain,
  notSynced,
  serviceHostname,
} from './hostnames/hostnames.ts'
export { findServingClaim, verifyAllDomains } from './hostnames/served-domains.ts'
export type { RecordedWith } from './lifecycle/create-project.ts'
export { allLinks, findLink, linksTo, listLinks } from './link-store.ts'
export type { DeployedLinks } from './links/link-networks.ts'
export { UnresolvedVariable } from './links/resolve-variables.ts'
export { insertProjectTemplate } from './links/template-store.ts'
export { type Metered, sumByLabels } from './metrics/metered-environments.ts'
export {
  saveRestarts,
  saveTraffic,
  saveUsage,
  type UsageMinute,
} from './metrics/save-metrics.ts'
export { changeProject } from './operations/change-project.ts'
export { runLeasedOperation } from './operations/leased-operation.ts'
export * from './operations/operation.ts'
export { findBySubject, listOperations } from './operations/operation-store.ts'
export { ResumeLater } from './operations/resume-kind.ts'
export type * from './project-part.ts'
export type * from './project-ports.ts'
export { type ProjectSignal, projectsTopic } from './project-signal.ts'
export * from './public-queries.ts'
export { settingsOf, sourceHash } from './records/pending-changes.ts'
export {
  environmentInOrganization,
  requireEnvironment,
} from './require-environment.ts'
export type { SavedProject } from './saved/saved-project.ts'
export type { SavedUpload } from './saved/saved-upload.ts'
export type { OpenedEnv } from './settings/env.ts'
export { previewSlug } from './settings/previews.ts'
export { nextSource, projectSource, sourceKind } from './source.ts'
export { allEnvironments, findAnyProject, findEnvironment } from './store.ts'

type CreateLinkArguments = Parameters<typeof createLink> extends [...infer Given, ProjectsDeps] ? Given : never

/**
 * A *project* is the unit that the service builds and runs: a *source*, a config, *environments* with their *variables*,
 * *domains* and a *status* derived from current facts. Modules above this one provide their facts as *projectPorts*. Data that
 * other modules attach to a project, and that is deleted with it, is a *part*.
 */
export function createProjects(deps: ProjectsDeps) {
  const deletion = createDeletion(deps)
  const environmentDeletion = createEnvironmentDeletion(deps)
  const metered = createMeteredEnvironments(deps.database.db)
  return {
    /** The projects and environments with metrics of their own. */
    metered,
    metrics: [projectMetrics(metered)],
    handlers: projectsHandlers(deps, deletion, environmentDeletion),
    loaders: projectsLoaders(deps),
    /** Extra HTTP addresses, mounted beside the route table. */
    addresses: storageAddresses(deps),
    jobs: [
      ...[
        deletion.job,
        environmentDeletion.job,
        powerJob(deps),
        sweepJob(deps),
        removeUploadJob(deps),
        checkJob(deps),
        thinJob(deps),
      ],
      ...[hookJob(deps), updateWebhookJob(deps), removeHookJob(deps), resumeJob(deps), sweepOperationsJob(deps)],
    ],
    schedules: [sweepSchedule, checkSchedule, thinSchedule, sweepOperationsSchedule],
    create: (body: CreateProject, caller: Caller, recordedWith?: RecordedWith) => createProject(body, caller, deps, recordedWith),
    update: (project: ProjectRow, body: UpdateProject) => updateProject(project, body, deps),
    show: (row: ProjectRow) => showProject(row, deps),
    /** The URL of production that works now; null for a worker. */
    addressOf: async (row: ProjectRow): Promise<string | null> => (await showProject(row, deps)).url ?? null,
    quotas: {
      limitsOf: (db: Db, organizationId: string) => limitsOf(db, organizationId, deps),
      show: (organizationId: string) => showQuotas(deps.database.db, organizationId, deps),
      /** Called before a workload is started: refuses where the organisation already exceeds its quota. */
      refuseOver: (transaction: Pick<TransactionContext, 'db' | 'lock'>, organizationId: string) =>
        refuseOverQuota(transaction, organizationId, ['cpuCores', 'memoryMb'], deps),
    },
    showAll: (rows: readonly ProjectRow[]) => showProjects(rows, deps),
    /** The organisation was connected to the git host: its webhooks are checked. */
    enqueueWebhookChecks,
    /** A git host gets another address: projects keep the remote that they have. */
    keepRemotes,
    /** Projects of these organisations that use the repository; its name is compared case-insensitively. */
    listOfRepository: (repository: RepositoryName, organizationIds: readonly string[]) =>
      listOfRepository(deps.database.db, repository, organizationIds),
    /** Whether any project of these organisations deploys a push to that branch. */
    isFollowed: (repository: RepositoryName, organizationIds: readonly string[], push: Parameters<typeof hasDeployBranch>[3]) =>
      hasDeployBranch(deps.database.db, repository, organizationIds, push),
    /** Whether a project that was transferred to another instance deployed pushes to that branch. */
    wasFollowed: (repository: RepositoryName, organizationIds: readonly string[], push: Parameters<typeof hasDeployBranch>[3]) =>
      hasDeployBranch(deps.database.db, repository, organizationIds, push, ['departed']),
    /** Whether a project of that repository is being transferred to or from this instance. */
    isBeingTransferred: (repository: RepositoryName, organizationIds: readonly string[]) =>
      isBeingTransferred(deps.database.db, repository, organizationIds),
    environmentsOf: (projectId: string) => allEnvironments(deps.database.db, projectId),
    find: (projectId: string) => findAnyProject(deps.database.db, projectId),
    ensurePreview: (project: ProjectRow, options: PreviewOptions) => ensurePreview(project, options, deps),
    removeEnvironment: environmentDeletion.remove,
    environmentUrl: (project: ProjectRow, slug: string) => environmentUrl(project, slug, deps),
    repositoryRef: (project: ProjectRow) => repositoryRef(project, deps),
    openEnv: (projectId: string, environment: string, options?: { fromFork?: boolean }) =>
      openEnv(projectId, environment, deps, options),
    /** The variables with links and references resolved; throws `UnresolvedVariable`. */
    openResolvedEnv: (projectId: string, environment: string, options?: { fromFork?: boolean }) =>
      openResolvedEnv(projectId, environment, deps, options),
    /** Links to services. */
    links: {
      create: (...[project, service, body, createdBy]: CreateLinkArguments) =>
        createLink(project, service, body, createdBy, deps),
      remove: (link: LinkRow, onDeleted: (transaction: TransactionContext) => Promise<unknown>) =>
        deleteLink(link, deps, onDeleted),
      removeAll: (of: Parameters<typeof deleteAllLinks>[0], onDeleted: Parameters<typeof deleteAllLinks>[2]) =>
        deleteAllLinks(of, deps, onDeleted),
      show: (link: LinkRow) => showLink(link, deps),
      ofDeployment: (deployment: Parameters<typeof findDeployedLinks>[0]) => findDeployedLinks(deployment, deps),
      existing: (ids: readonly string[]) => existingLinks(deps.database.db, ids),
    },
    save: (projectId: string) => snapshotProject(projectId, deps),
    restore: (saved: SavedProject, organizationId: string) => restoreProject(saved, organizationId, deps),
    previewRestore: (saved: SavedProject, organizationId: string) => previewProjectRestore(saved, organizationId, deps),
    /** Upload that is a project's source, for backups and transfers: reading it and restoring it. */
    uploadOf: (projectId: string) => findSourceUpload(projectId, deps),
    isUploadMissing: (saved: SavedProject) => isUploadMissing(saved, deps),
    restoreUpload: (saved: SavedProject, organizationId: string, content: () => AsyncIterable<Uint8Array>) =>
      restoreUpload(saved, organizationId, content, deps),
    /** A deployment of the environment was requested with this upload, which becomes the environment's source. */
    async setUploadSource(
      transaction: TransactionContext,
      sessionId: string,
      target: { project: ProjectRow; environment: EnvironmentRow },
    ): Promise<void> {
      await claimUpload(transaction, sessionId, target.project, deps)
      await setEnvironmentUpload(transaction, sessionId, target, deps)
    },
    /** A deployment of the environment was requested by branch or commit: the upload is no longer its source. */
    clearUploadSource: (transaction: TransactionContext, environment: EnvironmentRow) =>
      clearEnvironmentUpload(transaction, environment, deps),
    claimUpload: (transaction: TransactionContext, sessionId: string, project: ProjectRow) =>
      claimUpload(transaction, sessionId, project, deps),
    /** A deployment no longer uses the upload. */
    releaseUpload: (transaction: TransactionContext, sessionId: string) => releaseUpload(transaction, sessionId, deps),
    openSecrets: async (projectId: string) => [
      ...(await openSecrets(projectId, deps)),
      ...(await openLinkedSecrets(projectId, deps)),
    ],
    /** Functions that export and import a project's own data. */
    transfers: projectTransfers(deps, deletion),
    /** Downloads an upload that was sent to the object store, before a row refers to it. */
    fetchUpload: (sessionId: string, organizationId: string) => fetchUploadById(sessionId, organizationId, deps),
    /** Uploads that name no project: they may belong to a project in the linked cloud. */
    forwardableUploads: {
      find: async (sessionId: string, organizationId: string) => {
        const session = await findUploadSession(deps.database.db, organizationId, sessionId, nowOf(deps))
        return session?.projectId === null ? session : undefined
      },
      file: (sessionId: string) => new UploadFiles(deps).of(sessionId),
      recordCloudSession: (sessionId: string, cloudSessionId: string) =>
        deps.database.db.updateTable('uploadSessions').set({ cloudSessionId }).where('id', '=', sessionId).execute(),
    },
    /** Path of the tarball of a received upload. */
    uploadFile: (sessionId: string): string => new UploadFiles(deps).of(sessionId),
    /** The address to which a git host delivers webhooks of a repository; null: the instance's own address. */
    deliveryAddress: (organizationId: string, repository: RepositoryName) => deliveryAddress(organizationId, repository, deps),
    /** The git remote of a project, with its credential. */
    remoteOf: (project: ProjectRow, url?: string, abort?: AbortSignal) => remoteOf(project, deps, url, abort),
    /** Calls `request` with `remoteOf`; if git rejects the connection's credential, retries once with another one. */
    readRemote: <Result>(
      project: ProjectRow,
      request: (remote: GitRemote) => Promise<Result>,
      options: { url: string; abort: AbortSignal },
    ) => readRemote(project, deps, request, options),
  }
}
