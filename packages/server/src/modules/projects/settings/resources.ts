import type { Resources, ResourcesBody } from '@berth/contract'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { changeProject } from '../lifecycle/change-project.ts'
import type { ProjectChanges } from '../store.ts'

export const showResources = ({ resources, sleepMode, port }: ProjectRow): Resources => ({
  ...(JSON.parse(resources) as Pick<Resources, 'production' | 'build'>),
  sleepMode,
  port,
})

/** Merge: an amount that is not named stays as it is. */
export async function setResources(project: ProjectRow, body: ResourcesBody, deps: ProjectsDeps): Promise<Resources> {
  const { production, build, sleepMode, port } = body
  const row = await changeProject(project, deps, (current) => {
    const before = showResources(current)
    const amounts = { production: { ...before.production, ...production }, build: { ...before.build, ...build } }
    const changes: ProjectChanges = {
      ...(production || build ? { resources: JSON.stringify(amounts) } : {}),
      ...(sleepMode ? { sleepMode } : {}),
      ...(port ? { port, portChosen: 1 } : {}),
    }
    return Object.keys(changes).length > 0 ? changes : null
  })
  return showResources(row)
}
