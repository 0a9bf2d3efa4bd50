import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectData } from '../../deployments/index.ts'

export interface KnownContent {
  services: ReadonlySet<string>
  volumes: ReadonlySet<string>
}

/** The services and volumes of a project by name: those in its settings, those of the live deployment, and stored volumes. */
export async function knownContent(
  project: Pick<ProjectRow, 'id' | 'services' | 'volumes'>,
  data: Pick<ProjectData, 'units' | 'volumes'>,
): Promise<KnownContent> {
  const [units, rows] = [await data.units(project.id), await data.volumes(project.id)]
  const services = projectJson.services(project)
  const mounted = services.flatMap((service) => service.volumes ?? []).filter(({ type }) => type === 'volume')
  return {
    services: new Set([...services.map(({ name }) => name), ...units.map(({ service }) => service).filter(Boolean)]),
    volumes: new Set([
      ...projectJson.volumes(project).map(({ name }) => name),
      ...mounted.flatMap(({ source }) => source ?? []),
      ...units.flatMap((unit) => unit.volumes.map(({ name }) => name)),
      ...rows.map(({ name }) => name),
    ]),
  }
}
