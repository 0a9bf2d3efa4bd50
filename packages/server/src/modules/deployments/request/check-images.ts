import { RegistryFailure } from '../../../drivers/registry/image-registry.ts'
import type { RegistryLogin } from '../../../drivers/registry/registry-login.ts'
import { digestIn, registryOf } from '../../../drivers/runtime/image-name.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { ImageCheckRow } from '../../../platform/db/tables/deployments.ts'
import { Failure } from '../../../platform/failure.ts'
import { job } from '../../../platform/jobs/declare.ts'
import type { Schedule } from '../../../platform/jobs/schedules.ts'
import { roundRobin } from '../../../platform/round-robin.ts'
import { type ImageProject, imageProjects } from '../../projects/index.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { storedArtifacts } from '../plan/deployed.ts'
import { listNow } from '../store.ts'
import { requestDeployment } from './request-deployment.ts'

const kind = 'deployments.check-images'

export const checkImagesSchedule: Schedule<unknown> = { key: kind, job: { kind }, payload: {}, recurrence: { everySeconds: 60 } }

const atOnce = 4
const maxProjects = 500

/** Deploys image projects whose tag points to another digest than the live one. */
export const checkImagesJob = (deps: DeploymentsDeps) =>
  job<Record<string, never>, unknown>(kind, {
    deadlineMs: 10 * 60_000,
    run: (_payload, _deps, abort) => checkImages(deps, abort),
  })

export async function checkImages(deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const due = await takeDue(await imageProjects(db), deps)
  if (due.length === 0) return
  const deployments = await liveDigests(db, due)
  const requested = due.filter(({ project }) => deployments.get(project.id))
  const logins = await deps.registries.loginsOfEach([...new Set(requested.map(({ project }) => project.organizationId))])
  const digests = await queryRegistries(requested, logins, deps, abort)
  const found = requested.flatMap(({ project, check }) => {
    const digest = digests.get(keyOf(project))
    const isNew = digest !== undefined && digest !== deployments.get(project.id) && digest !== check.digest
    return isNew ? [{ project, check: { ...check, digest } }] : []
  })
  for (const { project, check } of found) await deployDigest(project, check.digest, deps)
  if (found.length > 0)
    await saveChecks(
      db,
      found.map(({ check }) => check),
    )
}

interface Due {
  project: ImageProject
  check: ImageCheckRow
}

/** Projects whose check is due, each with its next time set. A new project is checked within one interval. */
async function takeDue(projects: readonly ImageProject[], deps: DeploymentsDeps): Promise<Due[]> {
  if (projects.length === 0) return []
  const { db } = deps.database
  const intervalMs = deps.settings.imageCheckSeconds * 1000
  const now = nowOf(deps)
  const known = new Map((await listChecks(db, projects)).map((check) => [check.projectId, check]))
  const changed: ImageCheckRow[] = []
  const due: Due[] = []
  for (const project of projects) {
    const check = known.get(project.id)
    // Spread over time, so that many projects do not query a registry at once.
    if (!check) changed.push({ projectId: project.id, nextAt: now + Math.round(Math.random() * intervalMs), digest: null })
    // A time beyond the longest interval was set while the clock was ahead.
    else if ((check.nextAt <= now || check.nextAt > now + 2 * intervalMs) && due.length < maxProjects) {
      const next = { ...check, nextAt: now + Math.round(intervalMs * (0.9 + Math.random() * 0.2)) }
      changed.push(next)
      due.push({ project, check: next })
    }
  }
  await saveChecks(db, changed)
  return due
}

/** The digest that production runs. Projects that were never deployed, or are being deployed, have none. */
async function liveDigests(db: Db, due: readonly Due[]): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>()
  const busy = new Set<string>()
  for (const row of await listNow(
    db,
    due.map(({ project }) => project.id),
  )) {
    const artifacts = storedArtifacts(row) ?? {}
    const digest = digestIn(artifacts['']?.reference ?? '')
    if (row.status !== 'live') busy.add(row.projectId)
    else if (digest) digests.set(row.projectId, digest)
  }
  for (const projectId of busy) digests.delete(projectId)
  return digests
}

/** Projects of one organisation with the same image are one question. */
const keyOf = ({ organizationId, image }: ImageProject) => `${organizationId} ${image}`

/** Queries the registries; one that does not answer is skipped for the rest of the round. */
async function queryRegistries(
  due: readonly Due[],
  logins: ReadonlyMap<string, readonly RegistryLogin[]>,
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const requested = new Map(due.map(({ project }) => [keyOf(project), project]))
  const questions = roundRobin(requested.values(), ({ organizationId }) => organizationId)
  const digests = new Map<string, string>()
  const away = new Set<string>()
  const request = async () => {
    for (let project = questions.shift(); project; project = questions.shift()) {
      abort.throwIfAborted()
      const host = registryOf(project.image)
      if (away.has(host)) continue
      try {
        const own = logins.get(project.organizationId) ?? []
        digests.set(keyOf(project), await deps.imageRegistry.digestOf(project.image, own, abort))
      } catch (error) {
        if (!(error instanceof RegistryFailure)) throw error
        if (error.reason === 'unreachable') away.add(host)
        const { id: projectId, image } = project
        deps.log.warn({ projectId, image, reason: error.message }, 'deployments: image was not compared with its registry')
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, request))
  return digests
}

/** A digest is deployed once: where its deployment fails, the next one is waited for. */
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
  for (let at = 0; at < rows.length; at += maxProjects)
    await db
      .insertInto('imageChecks')
      .values(rows.slice(at, at + maxProjects))
      .onConflict((conflict) =>
        conflict.column('projectId').doUpdateSet((eb) => ({
          nextAt: eb.ref('excluded.nextAt'),
          digest: eb.ref('excluded.digest'),
        })),
      )
      .execute()
}
