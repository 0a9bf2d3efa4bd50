import { statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { contract, type ProjectFile } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { type Output, output } from '../../output.ts'
import { linkedFolder, readLink, writeLink } from '../../project-link.ts'
import { liveText, watchDeployment } from '../../watch-deployment.ts'
import { offerLink } from '../git/offer-link.ts'
import { addSettingOptions, applySettings, settingsOf } from './project-settings.ts'
import { uploadFolder } from './upload-folder.ts'

interface Options {
  project?: string
  name?: string
  environment?: string
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
    .option('--project <project>', 'deploy to this project, by id, slug or name (default: the project linked to the folder)')
    .option('--name <name>', 'name of a new project (default: name of the folder)')
    .option('--environment <slug>', 'environment (default: production)')
    .option('--include-env-files', 'upload .env files too; without it they stay on this machine')
    .option('--git', 'deploy from the linked repository instead of the folder')
    .option('--branch <name>', 'with --git: this branch')
    .option('--commit <sha>', 'with --git: this commit')
  addSettingOptions(deploy).action(async (folder: string | undefined, options: Options, command: Command) => {
    const print = output(command)
    const requested = existingFolder(folder ?? '.')
    // The project's whole folder is uploaded, also if the command runs in a subfolder.
    const location = folder === undefined && !options.project ? (linkedFolder(requested) ?? requested) : requested
    const linked = options.project ?? readLink(location)?.projectId
    if (options.name !== undefined) refuseNameIfLinked(options, location, requested, linked)
    const settings = { ...settingsOf(location, command), ...(options.name === undefined ? {} : { name: options.name }) }
    const client = connect(command, requested)
    const { projectId, source } = options.git
      ? await fromGit(client, linked, options)
      : (await usesImage(client, linked, settings))
        ? await fromImage(client, location, linked, settings, options, print)
        : await fromFolder(client, location, linked, { ...options, ...settings }, print, command)
    await applySettings(client, projectId, settings)
    const { data } = await client.call(contract.deployments.build, {
      body: { projectId, ...source, ...(options.environment ? { environment: options.environment } : {}) },
    })
    const deployment = await watchDeployment(client, data.deploymentId, print)
    print.result(deployment, () => liveText(deployment))
    if (!linked && !settings.image && isAtTerminal(command)) await offerLink(client, location, projectId, print)
  })
}

/** `--name` asks for a new project; the folder must not be deployed over the project that it is linked to. */
function refuseNameIfLinked({ project, name }: Options, location: string, requested: string, linked: string | undefined): void {
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
  location: string,
  linked: string | undefined,
  { image }: ProjectFile,
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
  writeLink(location, { projectId: data.id, url: client.url })
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

async function fromFolder(
  client: Connection,
  location: string,
  linked: string | undefined,
  options: Options,
  print: Output,
  command: Command,
) {
  if (options.branch || options.commit) throw new CliError('--branch and --commit need --git: a folder has neither', 2)
  const uploadSessionId = await uploadFolder(client, location, linked, print, command)
  const projectId = linked ?? (await createProject(client, location, uploadSessionId, options, print))
  return { projectId, source: { uploadSessionId } }
}

/** True if the command may prompt: not with JSON output, and not behind a pipe. */
const isAtTerminal = (command: Command): boolean =>
  process.stdin.isTTY === true && process.stderr.isTTY === true && command.optsWithGlobals().json !== true

function existingFolder(folder: string): string {
  const location = resolve(folder)
  if (!statSync(location, { throwIfNoEntry: false })?.isDirectory()) throw new CliError(`${location} is not a folder`, 2)
  return location
}

/** Creates the project with the detected settings; the deployment shows the warnings of the detection. */
async function createProject(
  client: Connection,
  folder: string,
  sessionId: string,
  options: Options,
  print: Output,
): Promise<string> {
  const { data: scan } = await client.call(contract.projects.scanUpload, { params: { sessionId } })
  const { data } = await client.call(contract.projects.ensure, {
    body: {
      name: options.name ?? scan.name ?? basename(folder),
      gitProvider: 'upload',
      uploadSessionId: sessionId,
      type: scan.type,
      framework: scan.framework,
    },
  })
  writeLink(folder, { projectId: data.id, url: client.url })
  print.note(`created project ${data.name} (${data.id}) and linked this folder to it (.berth/project.json)`)
  return data.id
}
