import { type AddTemplate, type CreateProject, hasPermission, type Project } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import { Failure, fail } from '../../platform/failure.ts'
import { insertProjectTemplate } from '../projects/index.ts'
import type { CatalogueDeps } from './deps.ts'
import { checkValues, newValues } from './new-values.ts'
import type { Template } from './read-template.ts'

/** Why the template cannot be used on this instance; null: it can. */
export function unavailableReason({ title }: Template, { runtimeKind, refusesServices }: CatalogueDeps): string | null {
  if (runtimeKind() === 'process')
    return `${title} needs Docker, and this instance runs plain processes. Install Docker and start Berth again.`
  const refusal = refusesServices?.()
  return refusal === undefined ? null : `${title} ${refusal}.`
}

/** Creates a project from a template, with variables, volumes and a backup policy, and requests its first deployment. */
export async function addTemplate(
  template: Template,
  { name, variables }: AddTemplate,
  caller: Caller,
  deps: CatalogueDeps,
): Promise<{ data: Project; warnings?: string[] }> {
  const unavailable = unavailableReason(template, deps)
  if (unavailable) fail('conflict', { message: unavailable })
  const given = variables ?? {}
  checkValues(template, given)
  const project = await deps.projects.create(createBody(template, name ?? template.title), caller, {
    variables: (row) => newValues(template, given, { url: deps.projects.environmentUrl(row, 'production') }),
    record: async (row, db) => {
      await insertProjectTemplate(db, {
        projectId: row.id,
        templateId: template.id,
        version: template.version,
        service: template.connection?.service ?? null,
        port: template.connection?.port ?? null,
        linkVariables: JSON.stringify(template.connection?.variables ?? {}),
        createdAt: row.createdAt,
      })
    },
  })
  const warning = await addBackupPolicy(template, project, caller, deps)
  await deps.deployments.deploy(project.id, { trigger: 'manual', createdBy: caller.userId })
  return { data: await deps.projects.show(project), ...(warning ? { warnings: [warning] } : {}) }
}

const defaultMemoryMb = 512

function createBody({ services, healthPath, startSeconds, minimumMemoryMb }: Template, name: string): CreateProject {
  const healthCheck = {
    ...(healthPath ? { path: healthPath } : {}),
    ...(startSeconds ? { timeoutSeconds: startSeconds } : {}),
  }
  return {
    name,
    type: 'services',
    services,
    ...(Object.keys(healthCheck).length > 0 ? { healthCheck } : {}),
    ...(minimumMemoryMb > defaultMemoryMb ? { resources: { production: { memoryMb: minimumMemoryMb } } } : {}),
  }
}

/** Adds the template's backup policy at the organisation's only destination; otherwise returns a warning. */
async function addBackupPolicy(
  { backup }: Template,
  project: ProjectRow,
  caller: Caller,
  deps: CatalogueDeps,
): Promise<string | null> {
  if (!backup) return null
  const noPolicy = (reason: string) => `${project.name} has no backup policy: ${reason}`
  if (!hasPermission(caller, 'backup_destination:backup_policy:write'))
    return noPolicy('you may not create one. Ask a member of the organisation to add one.')
  const destinations = await deps.backups.destinationsOf(caller.organizationId)
  const [destination] = destinations
  if (!destination) return noPolicy('the organisation has no backup destination. Add a destination, then a policy.')
  if (destinations.length > 1)
    return noPolicy(`the organisation has ${destinations.length} backup destinations. Add a policy with one of them.`)
  try {
    await deps.backups.createPolicy(project, { destinationId: destination.id, ...backup }, caller)
    return null
  } catch (error) {
    if (error instanceof Failure) return noPolicy(error.message)
    deps.log.warn({ err: error, projectId: project.id }, 'catalogue: backup policy not created')
    return noPolicy('it could not be created. Add one.')
  }
}
