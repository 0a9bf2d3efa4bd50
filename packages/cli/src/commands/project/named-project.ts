import type { Connection } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { findProject } from '../../find-project.ts'
import { findLink } from '../../project-link.ts'

/** The id of the named project (by id, slug or name), else of the one that this folder is linked to. */
export async function namedProject(client: Connection, project: string | undefined): Promise<string> {
  if (project !== undefined) return findProject(client, project)
  const id = findLink('.')?.projectId
  if (!id) throw new CliError('No project given. Pass its id, slug or name, or run this in a folder linked to a project.', 2)
  return id
}
