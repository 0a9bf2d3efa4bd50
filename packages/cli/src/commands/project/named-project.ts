import { Plain } from '../../exit-codes.ts'
import { findLink } from '../../project-link.ts'

/** The project that is named, else the one that this folder is linked to. */
export function namedProject(given: string | undefined): string {
  const id = given ?? findLink('.')?.projectId
  if (!id) throw new Plain('No project given. Pass its id, or run this in a folder linked to a project.', 2)
  return id
}
