import { statSync } from 'node:fs'
import { basename, resolve, sep } from 'node:path'
import { contract, type Deployment, type ProjectFile, type ReplyOf } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { type Output, output } from '../../output.ts'
import { writeLink } from '../../project-link.ts'
import { isAtTerminal } from '../../prompt.ts'
import { liveText, watchDeployment } from '../../watch-deployment.ts'
import { offerLink } from '../git/offer-link.ts'
import { offerVariables } from './example-variables.ts'
import { addSettingOptions, applySettings, type Settings } from './project-settings.ts'
import { type DeployTarget, findTargets } from './targets.ts'
import { uploadFolder } from './upload-folder.ts'

interface Options {
  project?: string
  name?: string
  environment?: string
  all?: boolean
  git?: boolean
  branch?: string
  commit?: string
}

export function addDeploy(program: Command): void {
  const deploy = program
    .command('deploy [folder]')
    .description(
      'upload a folder, build it and run it; creates a project the first time. Settings are read from berth.json in the folder',
    )
    .option(
      '--project <project>',
      'deploy to this project, by id, slug or name (default: the project linked to the folder). If berth.json has several projects: the name of one of them',
    )
    .option('--name <name>', 'name of a new project (default: name of the folder)')
    .option('--environment <slug>', 'environment (default: production)')
    .option('--include-env-files', 'upload .env files too; without it they stay on this machine')
    .option('--all', 'deploy every project of a berth.json with several projects')
    .option('--git', 'deploy from the linked repository instead of the folder')
    .option('--branch <name>', 'with --git: this branch')
    .option('--commit <sha>', 'with --git: this commit')
  addSettingOptions(deploy).action(async (folder: string | undefined, options: Options, command: Command) => {
    const print = output(command)
    const requested = existingFolder(folder ?? '.')
    const targets = await findTargets(requested, folder !== undefined, options, command)
    if (options.name !== undefined) refuseNameIfLinked(options, requested, targets)
    const [first] = targets as [DeployTarget]
    if (first.linked && !options.git && requested.startsWith(first.linkFolder + sep))
      print.note(`deploying ${first.linkFolder}, which is linked to the project`)
    const deployments: Deployment[] = []
    for (const target of targets) {
      if (targets.length > 1) print.note(`deploying ${target.settings.name} (${deployments.length + 1} of ${targets.length})`)
      deployments.push(await deployTarget(target, options, print, command))
      if (targets.length > 1) print.note(liveText(deployments.at(-1) as Deployment))
    }
    const [only, another] = deployments
    if (only && !another) print.result(only, () => liveText(only))
    else print.result(deployments, () => `deployed ${deployments.length} projects`)
    if (targets.length === 1 && !first.linked && !first.settings.image && isAtTerminal(command) && only)
      await offerLink(connect(command, requested), first.location, only.projectId, print)
  })
}

async function deployTarget(target: DeployTarget, options: Options, print: Output, command: Command): Promise<Deployment> {
  const { linkFolder, linked } = target
  const settings = { ...target.settings, ...(options.name === undefined ? {} : { name: options.name }) }
  const client = connect(command, linkFolder)
  const { projectId, source } = options.git
    ? await fromGit(client, linked, options)
    : (await usesImage(client, linked, settings))
      ? await fromImage(client, { ...target, settings }, options, print)
      : await fromFolder(client, { ...target, settings }, options, print, command)
  await applySettings(client, projectId, settings)
  const { data } = await client.call(contract.deployments.build, {
    body: { projectId, ...source, ...(options.environment ? { environment: options.environment } : {}) },
  })
  return watchDeployment(client, data.deploymentId, print)
}

/** Refuses `--name`, which creates a project, in a folder that is linked to one: the deployment would replace the linked project. */
function refuseNameIfLinked({ project, name }: Options, requested: string, [target]: readonly DeployTarget[]): void {
  const { location = requested, linked } = target ?? {}
  if (project) throw new CliError('--name is for a new project. Use either --name or --project.', 2)
  if (!linked) return
  const next = location === requested ? 'run berth unlink in the folder first' : `name the folder: berth deploy . --name ${name}`
  throw new CliError(
    `${location} is already linked to project ${linked}. Omit --name to deploy to it. To create another project, ${next}.`,
    6,
  )
}

/** Whether the deployment runs an image: one from the settings, or that of the linked project. */
async function usesImage(client: Connection, linked: string | undefined, { image }: ProjectFile): Promise<boolean> {
  if (image !== undefined || !linked) return Boolean(image)
  return Boolean((await client.call(contract.projects.get, { params: { id: linked } })).data.config.image)
}

/** Deploys an image without an upload, and links the folder to the project. */
async function fromImage(
  client: Connection,
  { location, linkFolder, linked, settings: { image } }: DeployTarget,
  options: Options,
  print: Output,
) {
  if (options.branch || options.commit) throw new CliError('--branch and --commit need --git: an image has neither', 2)
  if (linked) return { projectId: linked, source: {} }
  const name =
    options.name ??
    image
      ?.replace(/[:@].*$/, '')
      .split('/')
      .at(-1) ??
    basename(location)
  const { data } = await client.call(contract.projects.ensure, { body: { name, image } })
  writeLink(linkFolder, { projectId: data.id, url: client.url })
  print.note(`created project ${data.name} (${data.id}) and linked this folder to it (.berth/project.json)`)
  return { projectId: data.id, source: {} }
}

/** A given branch selects the repository as the source, even if a folder was deployed to the project before. */
async function fromGit(client: Connection, linked: string | undefined, { branch, commit }: Options) {
  if (!linked)
    throw new CliError(
      'This folder is not linked to a project. Run berth init and berth git link first, or name a project with --project.',
      2,
    )
  const gitBranch = branch ?? (commit ? undefined : await linkedBranch(client, linked))
  return { projectId: linked, source: { ...(gitBranch ? { branch: gitBranch } : {}), ...(commit ? { commit } : {}) } }
}

async function linkedBranch(client: Connection, id: string): Promise<string | undefined> {
  const { data: project } = await client.call(contract.projects.get, { params: { id } })
  if (project.source.kind !== 'git' || project.source.branch) return project.source.branch ?? undefined
  const { data } = await client.call(contract.projects.commitStatus, { params: { id } })
  return data.branch ?? undefined
}

async function fromFolder(client: Connection, target: DeployTarget, options: Options, print: Output, command: Command) {
  if (options.branch || options.commit) throw new CliError('--branch and --commit need --git: a folder has neither', 2)
  const uploadSessionId = await uploadFolder(client, target.location, target.linked, print, command)
  const projectId = target.linked ?? (await createProject(client, target, uploadSessionId, print, command))
  return { projectId, source: { uploadSessionId } }
}

function existingFolder(folder: string): string {
  const location = resolve(folder)
  if (!statSync(location, { throwIfNoEntry: false })?.isDirectory()) throw new CliError(`${location} is not a folder`, 2)
  return location
}

/** Creates the project with the detected settings; the deployment shows the warnings of the detection. */
async function createProject(
  client: Connection,
  { location, linkFolder, settings }: DeployTarget,
  sessionId: string,
  print: Output,
  command: Command,
): Promise<string> {
  const { data: scan } = await client.call(contract.projects.scanUpload, { params: { sessionId } })
  // The scan covers the whole folder and does not detect an app in a subfolder.
  const detected = settings.rootDirectory ? {} : { type: scan.type, framework: scan.framework }
  if (!settings.rootDirectory) refuseUnchosenApp(scan, settings)
  const { data } = await client.call(contract.projects.ensure, {
    body: {
      name: settings.name ?? scan.name ?? basename(location),
      gitProvider: 'upload',
      uploadSessionId: sessionId,
      ...detected,
    },
  })
  writeLink(linkFolder, { projectId: data.id, url: client.url })
  print.note(`created project ${data.name} (${data.id}) and linked this folder to it (.berth/project.json)`)
  await offerVariables(client, data.id, scan.exampleVariables, print, command)
  return data.id
}

type Scan = ReplyOf<typeof contract.projects.scanUpload>['data']

/** A folder with several apps and no start command for all of them: nothing is created until the user has chosen one. */
function refuseUnchosenApp({ apps, startCommand, type }: Scan, { startCommand: ownCommand }: Settings): void {
  if (apps.length < 2 || startCommand || ownCommand || type === 'services') return
  const list = apps.map(({ path, framework }) => `  ${path}${framework ? ` (${framework})` : ''}`).join('\n')
  throw new CliError(
    `The folder has several apps:\n${list}\nChoose one with --root-directory, for example --root-directory ${apps[0]?.path}, or list them in berth.json under projects.`,
    2,
  )
}
