import type { AdoptBody, AdoptReply } from '@berth/contract'
import type { AdoptedVolume } from '../../drivers/runtime/runtime.ts'
import type { Caller } from '../../http/handler.ts'
import { newId } from '../../platform/db/ids.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { isUniqueViolation } from '../../platform/db/violations.ts'
import { isDiskFull } from '../../platform/disk-full.ts'
import { Failure, fail } from '../../platform/failure.ts'
import { adoptVolume } from '../deployments/index.ts'
import { locationsOf, operatorsOnly, systemPathsOf } from './adoptable.ts'
import { type Adoption, adoptionOf } from './adoption.ts'
import type { MigrationDeps } from './deps.ts'
import type { Discovery } from './discover.ts'
import { plainText } from './plain-text.ts'
import { holdsVolume, onFailure, planOfAdoption } from './plan.ts'
import { discoverOn } from './scan.ts'
import { adoptedContainers, insertAdopted } from './store.ts'

/** Reads the server again and records the named services as a project. Nothing on the server changes. */
export const adopt = (body: AdoptBody, isPlan: boolean, caller: Caller, deps: MigrationDeps): Promise<AdoptReply> =>
  tryAdopt(body, isPlan, caller, deps).catch(answerFailed)

async function tryAdopt(body: AdoptBody, isPlan: boolean, caller: Caller, deps: MigrationDeps): Promise<AdoptReply> {
  const adoptedBy = await adoptedContainers(deps.database.db, caller.organizationId)
  const discovery = await discoverOn(body.serverId, caller.organizationId, deps)
  const adoption = adoptionOf(body, discovery, adoptedBy)
  const mounted = systemPathsIn(adoption, discovery)
  if (mounted.length > 0 && !(await deps.isOperator(caller))) fail('forbidden', { message: operatorsOnly(mounted) })
  const project = isPlan ? null : await record(adoption, body.projectName, caller, deps)
  return {
    success: true,
    project: project && (await deps.projects.show(project)),
    adopted: adoption.parts.map(({ named: { container }, adopted: { service } }) => ({
      name: service.name,
      containerId: container.id,
      containerName: plainText(container.name),
      image: service.image ?? null,
      volumes: (service.volumes ?? []).map(({ source }) => shownVolume(adoption.volumes.get(source as string))),
    })),
    renamed: adoption.renamed,
    warnings: [...mounted.map(systemWarning), ...adoption.warnings, onFailure],
    plan: planOfAdoption(adoption),
  }
}

/** System paths mounted by the adopted container or its replicas. */
function systemPathsIn({ parts }: Adoption, { docker }: Discovery): string[] {
  const paths = locationsOf(docker)
  const containers = parts.flatMap(({ named }) => [named.container, ...named.replicas])
  return [...new Set(containers.flatMap((container) => systemPathsOf(container, paths)))]
}

const systemWarning = (location: string): string =>
  `${plainText(location)} is a system folder of the server: every member who can change the project can read or change the server through it`

const shownVolume = (volume: AdoptedVolume | undefined) =>
  volume ? plainText('volume' in volume ? volume.volume : volume.path) : ''

/** An error that names no field of the request concerns the discovered services, which the caller did not write. */
function answerFailed(error: unknown): never {
  if (isDiskFull(error)) throw error
  if (error instanceof Failure && (error.code !== 'validation_failed' || isOfRequest(error.options.field))) throw error
  const reason = error instanceof Failure ? error.message : 'internal error. The log of the instance has the details.'
  return fail('adoption_failed', { message: `The services could not be adopted: ${reason}`, cause: error })
}

const isOfRequest = (field: string | undefined) => /^(serverId|projectName|serviceNames)\b/.test(field ?? '')

async function record(adoption: Adoption, name: string, caller: Caller, deps: MigrationDeps): Promise<ProjectRow> {
  const { serverId, parts } = adoption
  const services = parts.map(({ adopted }) => adopted.service)
  const variables = parts.flatMap(({ adopted }) => adopted.variables.map((one) => ({ ...one, isSecret: true })))
  try {
    return await deps.projects.create({ name, type: 'services', services, serverId }, caller, {
      variables: () => variables,
      record: (project, db) => recordAdopted(adoption, project, db),
    })
  } catch (error) {
    if (isUniqueViolation(error))
      fail('conflict', { message: 'Another user adopted one of these services a moment ago. Scan again.' })
    throw error
  }
}

async function recordAdopted({ serverId, parts, volumes }: Adoption, project: ProjectRow, db: Db): Promise<void> {
  const common = { serverId, projectId: project.id }
  const { organizationId } = project
  for (const part of parts)
    for (const { id, name } of [part.named.container, ...part.named.replicas])
      await insertAdopted(db, {
        ...common,
        organizationId,
        containerId: id,
        containerName: plainText(name),
        service: part.named.name,
        holdsVolume: holdsVolume(part) ? 1 : 0,
        before: null,
        state: 'untouched',
        adoptedAt: project.createdAt,
      })
  for (const [name, volume] of volumes)
    await adoptVolume(db, {
      ...common,
      ...{ id: newId('vol'), environment: 'production', service: '', name, runtime: 'docker' },
      ...{ adopted: JSON.stringify(volume), machineId: null, hasData: 1, restoredFrom: null, createdAt: project.createdAt },
    })
}
