import { basename, resolve } from 'node:path'
import { contract, type Project } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { output } from '../output.ts'
import { readLink, writeLink } from '../project-link.ts'

export function addInit(program: Command): void {
  program
    .command('init [folder]')
    .description('create a project from a folder without deploying it, or link the folder to a project')
    .option('--name <name>', 'name of the project (default: name of the folder)')
    .option('--project <project>', 'link to this project, by id, slug or name, instead of creating one')
    .action(async (folder: string | undefined, { name, project }: { name?: string; project?: string }, command: Command) => {
      const location = resolve(folder ?? '.')
      const linked = readLink(location)
      if (linked && !project) throw new CliError(`${location} is already linked to project ${linked.projectId}`, 6)
      const data = await linkFolder(connect(command), location, { name, project })
      output(command).result(data, () =>
        project
          ? `linked ${location} to project ${data.name} (${data.id}). Deploy it with: berth deploy`
          : `created project ${data.name} (${data.id}) and linked ${location} to it. Deploy it with: berth deploy`,
      )
    })
}

/** Links the folder to the project, or to a new one. */
export async function linkFolder(
  client: Connection,
  location: string,
  { name, project }: { name?: string | undefined; project?: string | undefined } = {},
): Promise<Project> {
  const { data } = project
    ? await client.call(contract.projects.get, { params: { id: project } })
    : await client.call(contract.projects.create, { body: { name: name ?? basename(location), gitProvider: 'upload' } })
  writeLink(location, { projectId: data.id, url: client.url })
  return data
}
