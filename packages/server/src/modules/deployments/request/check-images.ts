import { digestIn, registryOf } from '../../../drivers/registry/image-name.ts'
import { RegistryFailure } from '../../../drivers/registry/image-registry.ts'
import type { RegistryLogin } from '../../../drivers/registry/registry-login.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { ImageCheckRow } from '../../../platform/db/tables/deployments.ts'
import { Failure } from '../../../platform/failure.ts'
import { job } from '../../../platform/jobs/declare.ts'
import type { Schedule } from '../../../platform/jobs/schedules.ts'
import { roundRobin } from '../../../platform/round-robin.ts'
import { type ImageProject, imageProjects } from '../../projects/index.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { storedArtifacts } from '../plan/deployed.ts'
import { listCurrentProduction } from '../store.ts'
import { requestDeployment } from './request-deployment.ts'

const kind = 'deployments.check-images'

export const checkImagesSchedule: Schedule<unknown> = { key: kind, job: { kind }, payload: {}, recurrence: { everySeconds: 60 } }

const maxConcurrent = 4
const maxProjects = 500

/** Deploys image projects whose tag points to another digest than the live one. */
export const checkImagesJob = (deps: DeploymentsDeps) =>
  job<Record<string, never>, unknown>(kind, {
    deadlineMs: 10 * 60_000,
    run: (_payload, _deps, abort) => checkImages(deps, abort),
  })

export async function checkImages(deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const due = await claimDueChecks(await imageProjects(db), deps)
  if (due.length === 0) return
  const digestsBefore = await liveDigests(db, due)
  const deployed = due.filter(({ project }) => digestsBefore.has(project.id))
  const logins = await deps.registries.loginsOfEach([...new Set(deployed.map(({ project }) => project.organizationId))])
  const digests = await queryRegistries(deployed, logins, deps, abort)
  const outdated = deployed.flatMap(({ project, check }) => {
    const digest = digests.get(imageKey(project))
    const isNew = digest !== undefined && digest !== digestsBefore.get(project.id) && digest !== check.digest
    return isNew ? [{ project, check: { ...check, digest } }] : []
  })
  for (const { project, check } of outdated) await deployDigest(project, check.digest, deps)
  if (outdated.length > 0)
    await saveChecks(
      db,
      outdated.map(({ check }) => check),
    )
}

interface DueCheck {
  project: ImageProject
  check: ImageCheckRow
}

/** Projects whose check is due, each with its next time set. A new project is checked within one interval. */
async function claimDueChecks(projects: readonly ImageProject[], deps: DeploymentsDeps): Promise<DueCheck[]> {
  if (projects.length === 0) return []
  const { db } = deps.database
  const intervalMs = deps.settings.imageCheckSeconds * 1000
  const now = nowOf(deps)
  const checks = new Map((await listChecks(db, projects)).map((check) => [check.projectId, check]))
  const changed: ImageCheckRow[] = []
  const due: DueCheck[] = []
  for (const project of projects) {
    const check = checks.get(project.id)
    // Spread over time, so that many projects do not query a registry at once.
    if (!check) changed.push({ projectId: project.id, nextAt: now + Math.round(Math.random() * intervalMs), digest: null })
    // A time beyond the longest interval was set while the system clock was wrong.
    else if ((check.nextAt <= now || check.nextAt > now + 2 * intervalMs) && due.length < maxProjects) {
      const next = { ...check, nextAt: now + Math.round(intervalMs * (0.9 + Math.random() * 0.2)) }
      changed.push(next)
      due.push({ project, check: next })
    }
  }
  await saveChecks(db, changed)
  return due
}

/** The digest that production runs, by project. A project that was never deployed, or is being deployed, is left out. */
async function liveDigests(db: Db, due: readonly DueCheck[]): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>()
  const deploying = new Set<string>()
  for (const row of await listCurrentProduction(
    db,
    due.map(({ project }) => project.id),
  )) {
    const artifacts = storedArtifacts(row) ?? {}
    const digest = digestIn(artifacts['']?.reference ?? '')
    if (row.status !== 'live') deploying.add(row.projectId)
    else if (digest) digests.set(row.projectId, digest)
  }
  for (const projectId of deploying) digests.delete(projectId)
  return digests
}

/** Projects of one organisation with the same image share one registry query. */
const imageKey = ({ organizationId, image }: ImageProject) => `${organizationId} ${image}`

/** Queries the registries; one that does not answer is skipped for the rest of the round. */
async function queryRegistries(
  due: readonly DueCheck[],
  logins: ReadonlyMap<string, readonly RegistryLogin[]>,
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const projectByImage = new Map(due.map(({ project }) => [imageKey(project), project]))
  const queue = roundRobin(projectByImage.values(), ({ organizationId }) => organizationId)
  const digests = new Map<string, string>()
  const unreachable = new Set<string>()
  const worker = async () => {
    for (let project = queue.shift(); project; project = queue.shift()) {
      abort.throwIfAborted()
      const host = registryOf(project.image)
      if (unreachable.has(host)) continue
      try {
        const registryLogins = logins.get(project.organizationId) ?? []
        digests.set(imageKey(project), await deps.imageRegistry.digestOf(project.image, registryLogins, abort))
      } catch (error) {
        if (!(error instanceof RegistryFailure)) throw error
        if (error.reason === 'unreachable') unreachable.add(host)
        const { id: projectId, image } = project
        deps.log.warn(
          { projectId, image, reason: error.message },
          'deployments: digest of image not read from its registry, skipped',
        )
      }
    }
  }
  await Promise.all(Array.from({ length: maxConcurrent }, worker))
  return digests
}

/** Deploys a digest once: if the deployment fails, only a newer digest is deployed. */
async function deployDigest({ id }: ImageProject, digest: string | null, deps: DeploymentsDeps): Promise<void> {
  try {
    await requestDeployment(id, { trigger: 'push', createdBy: null, requestKey: `image:${digest}` }, deps)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    deps.log.warn({ projectId: id, reason: error.message }, 'deployments: new digest of an image was not deployed')
  }
}

const listChecks = (db: Db, projects: readonly ImageProject[]): Promise<ImageCheckRow[]> =>
  db
    .selectFrom('imageChecks')
    .selectAll()
    .where(
      'projectId',
      'in',
      projects.map(({ id }) => id),
    )
    .execute()

async function saveChecks(db: Db, rows: readonly ImageCheckRow[]): Promise<void> {
  for (let offset = 0; offset < rows.length; offset += maxProjects)
    await db
      .insertInto('imageChecks')
      .values(rows.slice(offset, offset + maxProjects))
      .onConflict((conflict) =>
        conflict.column('projectId').doUpdateSet((eb) => ({
          nextAt: eb.ref('excluded.nextAt'),
          digest: eb.ref('excluded.digest'),
        })),
      )
      .execute()
}
