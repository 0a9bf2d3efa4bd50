import type { ProjectOptions, Resources, ResourcesBody } from '@berth/contract'
import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { configColumns } from '../fields.ts'
import { changeProject } from '../operations/change-project.ts'

export const showResources = (project: ProjectRow): Resources => ({
  ...projectJson.resources(project),
  sleepMode: project.sleepMode,
  port: project.port,
})

/** Merges: an absent amount is left unchanged. */
export async function setResources(project: ProjectRow, body: ResourcesBody, deps: ProjectsDeps): Promise<Resources> {
  const { production, build, sleepMode, port } = body
  const resources = { ...(production === undefined ? {} : { production }), ...(build === undefined ? {} : { build }) }
  const row = await changeProject(project, deps, (current) => {
    const options: ProjectOptions = {
      ...(Object.keys(resources).length > 0 ? { resources } : {}),
      ...(sleepMode === undefined ? {} : { sleepMode }),
      ...(port === undefined ? {} : { port }),
    }
    const changes = configColumns(options, current)
    return Object.keys(changes).length > 0 ? changes : null
  })
  return showResources(row)
}
