import { join } from 'node:path'
import { select } from '@clack/prompts'
import type { Command } from 'commander'
import { CliError } from '../../exit-codes.ts'
import { resolveProjectOption } from '../../find-project.ts'
import { linkedFolder, readLink } from '../../project-link.ts'
import { askFor } from '../../prompt.ts'
import { findWorkspace, projectAt, readProjectFile, type Workspace } from './project-file.ts'
import { hasSettingOptions, type Settings, settingsOf } from './project-settings.ts'

/** A project to deploy. */
export interface DeployTarget {
  /** Folder to upload. */
  location: string
  /** Folder whose link names the project. */
  linkFolder: string
  /** Id of the project; undefined before the first deployment. */
  linked: string | undefined
  settings: Settings
}

interface TargetOptions {
  project?: string
  name?: string
  all?: boolean
}

/** The projects that `berth deploy` deploys: that of the folder, or some of a `berth.json` with several projects. */
export async function findTargets(
  requested: string,
  isNamed: boolean,
  options: TargetOptions,
  command: Command,
): Promise<DeployTarget[]> {
  const workspace = findWorkspace(requested)
  if (workspace) return workspaceTargets(workspace, requested, options, command)
  if (options.all) throw new CliError('--all deploys the projects of a berth.json with several projects; there is none here', 2)
  await resolveProjectOption(command)
  const { project } = command.opts<TargetOptions>()
  // The project's whole folder is uploaded, also if the command runs in a subfolder.
  const location = isNamed || project ? requested : (linkedFolder(requested) ?? requested)
  const linked = project ?? readLink(location)?.projectId
  const settings = settingsOf(readProjectFile(location), command)
  return [{ location, linkFolder: location, linked, settings }]
}

async function workspaceTargets(
  workspace: Workspace,
  requested: string,
  { project, name, all }: TargetOptions,
  command: Command,
): Promise<DeployTarget[]> {
  if (name !== undefined) throw new CliError('--name has no effect here: berth.json names its projects. Use --project.', 2)
  if (all && project !== undefined) throw new CliError('Use either --all or --project', 2)
  if (all && hasSettingOptions(command))
    throw new CliError(
      '--all deploys every project with the settings of berth.json. Set options for one project with --project.',
      2,
    )
  const chosen = all ? workspace.projects : [await choose(workspace, requested, project)]
  // Here `--project` named a project of berth.json. As a project of the instance it would change which instance is used.
  command.setOptionValue('project', undefined)
  return chosen.map((entry) => {
    const linkFolder = join(workspace.folder, entry.rootDirectory)
    const linked = readLink(linkFolder)?.projectId
    return { location: workspace.folder, linkFolder, linked, settings: settingsOf(entry, command) }
  })
}

async function choose(workspace: Workspace, requested: string, name: string | undefined): Promise<Workspace['projects'][number]> {
  const names = workspace.projects.map((entry) => entry.name)
  if (name === undefined) {
    const here = projectAt(workspace, requested)
    if (here) return here
  }
  const list = `berth.json has the projects ${names.join(', ')}`
  if (name === undefined && !process.stdin.isTTY)
    throw new CliError(`${list}. Name one with --project, or deploy all of them with --all.`, 2)
  const wanted =
    name ??
    (await askFor(
      () => select({ message: 'Which project?', options: names.map((value) => ({ value, label: value })) }),
      '--project',
    ))
  const found = workspace.projects.find((entry) => entry.name === wanted)
  if (!found) throw new CliError(`${list}, and none is named ${wanted}.`, 2)
  return found
}
