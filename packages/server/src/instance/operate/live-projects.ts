import { liveProjectsHere } from '../../modules/deployments/index.ts'
import { findAnyProject } from '../../modules/projects/index.ts'
import type { Db } from '../../platform/db/schema.ts'

/** Slugs of the projects that run on this machine. */
export async function liveProjectSlugs(db: Db): Promise<string[]> {
  const projects = await Promise.all((await liveProjectsHere(db)).map((id) => findAnyProject(db, id)))
  return projects.flatMap((project) => project?.slug ?? []).sort()
}
