import type { BuildBody } from '@berth/contract'
import { newId } from '../../../platform/db/ids.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { EnvironmentRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { Failure, fail, refuse } from '../../../platform/failure.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'
import type { Enqueued } from '../../../platform/jobs/enqueue.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import {
  beginOperation,
  endOperation,
  findAnyProject,
  findEnvironment,
  lockProject,
  nextSource,
  projectSource,
  refuseOperation,
  settingsOf,
  sourceHash,
  sourceKind,
} from '../../projects/index.ts'
import { deploymentTopic } from '../deployment-log.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { type DeployedSource, deployedConfig, deployedSource, planOf } from '../plan/deployed.ts'
import { configOf, withResources } from '../plan/plan.ts'
import {
  findDeployment,
  findRequested,
  insertDeployment,
  listLiveDeployments,
  listQueued,
  nextNumber,
  transitionDeployment,
} from '../store.ts'

/** Payload of the job that runs one deployment; see `deploy-job.ts`. */
export interface DeployPayload {
  deploymentId: string
}

export const deployKind = sharedKind<DeployPayload>('deployments.deploy')

/**
 * The job group: jobs of one environment run one after the other, so a cancelled deployment is cleaned up when its job has ended.
 */
export const groupOf = ({ projectId, environment }: Pick<DeploymentRow, 'projectId' | 'environment'>) =>
  `deploy:${projectId}:${environment}`

/** Unique key: at most one active job per deployment. */
export const jobKey = (deploymentId: string) => `${deployKind.kind}:${deploymentId}`

export interface DeploymentOptions extends Omit<BuildBody, 'projectId'> {
  trigger: DeploymentRow['trigger']
  createdBy: string | null
  /** Idempotency key: if the environment's newest deployment has the same key, that one is returned and none is created. */
  requestKey?: string
  /** Commit message and author, where known before the fetch. */
  commitFacts?: { message: string; author: string | null }
  /** See `DeployedSource`. */
  ref?: string
  fromFork?: true
  /** Restarts the live deployment with the current variables and resources. */
  restart?: true
  /** An earlier deployment whose source is reused; with `keepArtifacts`, also its artifacts and variables. */
  basedOn?: { deployment: DeploymentRow; keepArtifacts: boolean }
}

/** The queued deployment, or the existing one with the same request key. */
export interface RequestedDeployment {
  deployment: DeploymentRow
  isNew: boolean
}

/** Queues a deployment. It replaces an older one that is still queued. */
export async function requestDeployment(
  projectId: string,
  options: DeploymentOptions,
  deps: DeploymentsDeps,
): Promise<DeploymentRow> {
  const requested = await deps.database.transaction((transaction) => requestWithin(transaction, projectId, options, deps))
  reportQueued([requested], deps)
  return requested.deployment
}

/** Writes the first line of the deployment's log, so that a user sees at once that it is queued behind other builds. */
export function reportQueued(requested: readonly RequestedDeployment[], { logStore, log }: DeploymentsDeps): void {
  for (const { deployment, isNew } of requested) {
    if (!isNew) continue
    const line = { deploymentId: deployment.id, step: null, stream: 'system' as const, message: queuedMessage(deployment) }
    logStore
      .append(deployment.projectId, 'deployments', [line])
      .catch((error: unknown) => log.warn({ err: error, deploymentId: deployment.id }, 'deployments: log line not saved'))
  }
}

function queuedMessage({ number, trigger, commitSha, branch, artifacts }: DeploymentRow): string {
  const kind = trigger === 'redeploy' && artifacts !== null ? 'restart' : trigger.replace('_', ' ')
  const commitText = commitSha ? ` of ${commitSha.slice(0, 12)}${branch ? ` on ${branch}` : ''}` : ''
  return `Queued as deployment ${number}: ${kind}${commitText}`
}

/** Queues a deployment within a transaction. It rejects before it writes anything, so the caller may continue the transaction. */
export async function requestWithin(
  transaction: TransactionContext,
  projectId: string,
  options: DeploymentOptions,
  deps: DeploymentsDeps,
): Promise<RequestedDeployment> {
  await lockProject(transaction, projectId)
  const project = (await findAnyProject(transaction.db, projectId)) ?? fail('not_found')
  const newOperation = operationOf(project, options)
  // A deployment requested by a transfer is part of the transfer's operation.
  const isOwnOperation = options.trigger !== 'transfer'
  if (isOwnOperation) await refuseOperation(newOperation, transaction, deps)
  refuseAbsent(project, options)
  if (!project.enabled) fail('project_disabled')
  const environment = await environmentOf(transaction, project, options.environment)
  if (options.restart) options = { ...options, basedOn: await findRestartable(transaction, project.id, environment.slug) }
  const existing = options.requestKey && (await findRequested(transaction.db, projectId, environment.slug, options.requestKey))
  if (existing) return { deployment: existing, isNew: false }
  // A rollback is allowed even if the organisation is over its quota by now.
  if (options.trigger !== 'rollback') await deps.projects.quotas.refuseOver(transaction, project.organizationId)
  const source = await claimSource(transaction, { project, environment }, options, deps)
  const row = newRow({ project, environment, source, number: await nextNumber(transaction.db, projectId) }, options, deps)
  for (const older of await listQueued(transaction.db, projectId, environment.slug))
    await cancelReplaced(older, row, transaction, deps)
  await insertDeployment(transaction.db, row)
  const operation = { ...newOperation, environment: environment.slug, subjectId: row.id }
  const isWaiting = isOwnOperation && (await beginOperation(operation, transaction, deps)).isWaiting
  if (!isWaiting) await enqueueDeployment(row, project, transaction, deps)
  const deployment = (await findDeployment(transaction.db, row.id)) as DeploymentRow
  await deps.onStatusChange?.(transaction, deployment)
  return { deployment, isNew: true }
}

/** Queues the job of a deployment; the jobs of one environment form a group. */
export async function enqueueDeployment(
  { id, projectId, environment }: Pick<DeploymentRow, 'id' | 'projectId' | 'environment'>,
  { organizationId }: Pick<ProjectRow, 'organizationId'>,
  transaction: TransactionContext,
  deps: DeploymentsDeps,
): Promise<Enqueued> {
  const { builds } = await deps.projects.quotas.limitsOf(transaction.db, organizationId)
  return transaction.enqueue(
    deployKind.of({ organizationId }),
    { deploymentId: id },
    {
      uniqueKey: jobKey(id),
      groupKey: groupOf({ projectId, environment }),
      ...(builds === null ? {} : { pool: { key: `builds:${organizationId}`, limit: builds } }),
    },
  )
}

/** The operation of the project that this request starts. */
function operationOf({ id }: ProjectRow, { trigger, environment = 'production', restart }: DeploymentOptions) {
  const kind = restart ? ('restart' as const) : trigger === 'redeploy' || trigger === 'rollback' ? trigger : ('deploy' as const)
  return { projectId: id, environment, kind, isAutomatic: trigger === 'push' || trigger === 'pull_request' }
}

/** Rejects requests for a project that is not on this instance. While it is moving here, only the move itself may deploy it. */
function refuseAbsent({ presence }: ProjectRow, { trigger }: DeploymentOptions): void {
  const isImporting = presence === 'arriving' || presence === 'landing'
  const isHere = presence === 'here' || presence === 'departing'
  if (!isHere && !(isImporting && trigger === 'transfer'))
    fail('conflict', { message: 'The project was transferred to another instance. Deploy it there.' })
}

/** Continues a deployment that was built and then held; does nothing when its job is already queued or running. */
export const resumeDeployment = (deploymentId: string, { database }: DeploymentsDeps): Promise<unknown> =>
  database.transaction(async ({ db, enqueue }) => {
    const deployment = await findDeployment(db, deploymentId)
    if (deployment) await enqueue(deployKind.of(deployment), { deploymentId }, { uniqueKey: jobKey(deploymentId) })
  })

async function cancelReplaced(
  older: DeploymentRow,
  newer: { id: string; number: number },
  transaction: TransactionContext,
  deps: DeploymentsDeps,
): Promise<void> {
  const error = { errorCode: 'replaced', errorMessage: `Replaced by the newer deployment ${newer.number}` }
  const changes = { ...error, finishedAt: nowOf(deps), uploadSessionId: null }
  const replaced = await transitionDeployment(transaction.db, older.id, 'cancelled', changes)
  if (replaced && older.uploadSessionId) await deps.projects.releaseUpload(transaction, older.uploadSessionId)
  if (replaced) await deps.onStatusChange?.(transaction, replaced)
  await endOperation(older.id, transaction)
  await transaction.cancelJob({ uniqueKey: jobKey(older.id) })
  transaction.signal(deploymentTopic(older.id), { changed: true })
}

async function environmentOf({ db }: TransactionContext, project: ProjectRow, slug = 'production') {
  const row = await findEnvironment(db, project.id, slug)
  if (row?.deletingSince != null) fail('conflict', { message: `The environment ${slug} is being deleted` })
  return row ?? refuse('environment', `environment ${slug} does not exist`)
}

/** The live deployment, to be restarted from its artifacts. */
async function findRestartable({ db }: TransactionContext, projectId: string, environment: string) {
  const [deployment] = await listLiveDeployments(db, projectId, environment)
  if (!deployment?.artifacts || !deployment.plan)
    fail('nothing_to_restart', { message: `No deployment of ${environment} is live. Deploy the project first.` })
  if (planOf(deployment).type === 'static')
    fail('nothing_to_restart', { message: 'A static site has no process to restart. Deploy it to apply the changes.' })
  return { deployment, keepArtifacts: true }
}

/** The settings of the new deployment: those of the kept one; a restart uses the current variables and resources. */
function settingsFor(project: ProjectRow, base: DeploymentRow | null, isRestart: boolean) {
  const now = settingsOf(project)
  if (!base) return { config: JSON.stringify(configOf(project)), plan: null, ...now, envVersion: null }
  const { config, plan, configHash, resourcesHash, envVersion } = base
  if (!isRestart) return { config, plan, configHash, resourcesHash, envVersion }
  const { resources } = configOf(project)
  const before = deployedConfig(base)
  return {
    config: JSON.stringify({ ...before, resources }),
    plan: JSON.stringify(withResources(planOf(base), before.resources, resources)),
    configHash,
    resourcesHash: now.resourcesHash,
    envVersion: null,
  }
}

/** The source hash: that of the repeated deployment; for an upload, computed from its session. */
const sourceHashFor = (project: ProjectRow, source: DeployedSource, { basedOn }: DeploymentOptions): string | null =>
  basedOn && source.kind !== 'upload' ? basedOn.deployment.sourceHash : sourceHash(project, source)

interface DeploymentTarget {
  project: ProjectRow
  environment: EnvironmentRow
}

function newRow(
  { project, environment, source, number }: DeploymentTarget & { source: DeployedSource; number: number },
  options: DeploymentOptions,
  deps: DeploymentsDeps,
) {
  const base = options.basedOn?.keepArtifacts ? options.basedOn.deployment : null
  const id = newId('dep')
  const isRestart = options.restart === true
  const env = base?.env && !isRestart ? resealEnv(base, id, deps) : null
  return {
    id,
    projectId: project.id,
    environment: environment.slug,
    number,
    trigger: options.trigger,
    status: 'queued' as const,
    source: JSON.stringify(source),
    uploadSessionId: source.kind === 'upload' ? source.sessionId : null,
    ...settingsFor(project, base, isRestart),
    sourceHash: sourceHashFor(project, source, options),
    env,
    envSecretKeys: isRestart ? null : (base?.envSecretKeys ?? null),
    artifacts: base?.artifacts ?? null,
    // The artifacts are only on the server that built them.
    serverId: base ? base.serverId : project.serverId,
    sizeBytes: base?.sizeBytes ?? null,
    commitSha: base?.commitSha ?? (options.commitFacts ? (options.commit ?? null) : null),
    commitMessage: base?.commitMessage ?? options.commitFacts?.message ?? null,
    commitAuthor: base?.commitAuthor ?? options.commitFacts?.author ?? null,
    branch: source.kind === 'git' ? source.branch : null,
    steps: '[]',
    url: null,
    requestsTotal: null,
    requestsFailed: null,
    warnings: null,
    errorCode: null,
    errorMessage: null,
    errorLogTail: null,
    basedOn: options.basedOn?.deployment.id ?? null,
    force: options.force ?? false,
    requestKey: options.requestKey ?? null,
    createdBy: options.createdBy,
    createdAt: nowOf(deps),
    startedAt: null,
    finishedAt: null,
  }
}

function resealEnv(deployment: DeploymentRow, newDeploymentId: string, { secretBox }: DeploymentsDeps): string {
  const opened = secretBox.open(deployment.env as string, sealedFor.deploymentEnv(deployment.id))
  return secretBox.seal(opened, sealedFor.deploymentEnv(newDeploymentId))
}

/** The requested source, which becomes the environment's; without one, the environment's current source. */
async function claimSource(
  transaction: TransactionContext,
  target: DeploymentTarget,
  options: DeploymentOptions,
  deps: DeploymentsDeps,
): Promise<DeployedSource> {
  const { project, environment } = target
  if (options.basedOn) return reuseSource(transaction, project, options.basedOn, deps)
  const { uploadSessionId, branch, commit, ref, fromFork } = options
  if (uploadSessionId) {
    if (project.image) refuse('uploadSessionId', `cannot be deployed: the source of the project is the image ${project.image}`)
    await deps.projects.setUploadSource(transaction, uploadSessionId, target)
    return { kind: 'upload', sessionId: uploadSessionId }
  }
  const hostUrls = deps.settings.hostUrls()
  const isGitRevision = sourceKind(project) === 'git' && (branch !== undefined || commit !== undefined || ref !== undefined)
  const production = await findEnvironment(transaction.db, project.id, 'production')
  const source = isGitRevision
    ? projectSource(project, environment, hostUrls)
    : nextSource(project, environment, production, hostUrls)
  if (!source)
    fail('nothing_to_deploy', { message: 'The project has no source yet. Link a repository, upload a folder, or set an image.' })
  if (isGitRevision) await deps.projects.clearUploadSource(transaction, environment)
  if (source.kind !== 'git') return source
  return {
    ...source,
    branch: branch ?? source.branch,
    commit: commit?.toLowerCase() ?? null,
    ...(ref ? { ref } : {}),
    // This also applies when a member deploys a commit of the fork manually.
    ...(fromFork || environment.fromFork === 1 ? { fromFork: true as const } : {}),
  }
}

/** The source of an earlier deployment. Its upload is required if it is built again. */
async function reuseSource(
  transaction: TransactionContext,
  project: ProjectRow,
  { deployment, keepArtifacts }: NonNullable<DeploymentOptions['basedOn']>,
  deps: DeploymentsDeps,
): Promise<DeployedSource> {
  const source = deployedSource(deployment)
  if (source.kind !== 'upload') return source
  await deps.projects.claimUpload(transaction, source.sessionId, project).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error
    if (!keepArtifacts)
      fail('nothing_to_deploy', {
        message: `The files of deployment ${deployment.number} were deleted. Upload the folder again.`,
        cause: error,
      })
  })
  return source
}
