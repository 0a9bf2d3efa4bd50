import type { AdoptBody, AdoptReply } from '@berth/contract'
import type { AdoptedVolume } from '../../drivers/runtime/runtime.ts'
import type { Caller } from '../../http/handler.ts'
import { newId } from '../../platform/db/ids.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { isUniqueViolation } from '../../platform/db/violations.ts'
import { fail } from '../../platform/failure.ts'
import { adoptVolume } from '../deployments/index.ts'
import { type Adoption, adoptionOf } from './adoption.ts'
import type { MigrationDeps } from './deps.ts'
import { plainText } from './plain-text.ts'
import { planOfAdoption } from './plan.ts'
import { discoverOn } from './scan.ts'
import { adoptedContainers, insertAdopted } from './store.ts'

/** Looks at the server anew and records what was named as a project. Nothing on the server changes. */
export async function adopt(body: AdoptBody, isPlan: boolean, caller: Caller, deps: MigrationDeps): Promise<AdoptReply> {
  const discovery = await discoverOn(body.serverId, caller.organizationId, deps)
  const adoption = adoptionOf(body, discovery, await adoptedContainers(deps.database.db, body.serverId))
  const project = isPlan ? null : await record(adoption, body.projectName, caller, deps)
  return {
    success: true,
    project: project && (await deps.projects.show(project)),
    adopted: adoption.parts.map(({ named: { container }, adopted: { service, volumes } }) => ({
      name: service.name,
      containerId: container.id,
      containerName: plainText(container.name),
      image: service.image ?? null,
      volumes: [...volumes.values()].map((what) => plainText('volume' in what ? what.volume : what.path)),
    })),
    renamed: adoption.renamed,
    warnings: adoption.warnings,
    plan: planOfAdoption(adoption),
  }
}

async function record({ serverId, parts }: Adoption, name: string, caller: Caller, deps: MigrationDeps): Promise<ProjectRow> {
  const services = parts.map(({ adopted }) => adopted.service)
  const project = await deps.projects.create({ name, type: 'services', services, serverId }, caller)
  try {
    const upserts = parts.flatMap(({ adopted }) => adopted.variables.map((variable) => ({ ...variable, isSecret: true })))
    if (upserts.length > 0) await deps.projects.changeEnv(project, { environment: 'production', upserts })
    const now = deps.clock.now().getTime()
    await deps.database.transaction(async ({ db }) => {
      for (const { named, adopted } of parts)
        await insertAdopted(db, {
          serverId,
          containerId: named.container.id,
          containerName: named.container.name,
          projectId: project.id,
          service: named.name,
          holdsVolume: adopted.volumes.size > 0 ? 1 : 0,
          restart: named.container.restart,
          state: 'running',
          adoptedAt: now,
        })
      for (const [volume, what] of volumesOf(parts))
        await adoptVolume(db, {
          id: newId('vol'),
          ...{ projectId: project.id, environment: 'production', service: '', name: volume },
          ...{ runtime: 'docker', serverId, adopted: JSON.stringify(what), createdAt: now },
        })
    })
    return project
  } catch (error) {
    await deps.projects.withdraw(project.id)
    if (isUniqueViolation(error)) fail('conflict', { words: 'Somebody adopted one of these services a moment ago: scan again' })
    throw error
  }
}

const volumesOf = (parts: Adoption['parts']): Map<string, AdoptedVolume> =>
  new Map(parts.flatMap(({ adopted }) => [...adopted.volumes]))
