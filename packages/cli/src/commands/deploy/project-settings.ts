import { contract, ProjectFile, type Volume } from '@berth/contract'
import type { Command } from 'commander'
import type { Connection } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { optionOf } from '../../field-options.ts'
import { applyTasks } from '../cron/apply-file.ts'
import { refuseInvalid } from './project-file.ts'

/** Options of `berth deploy` that set a field of the project, by the field's name. */
const options: readonly [flags: string, description: string][] = [
  ['--type <type>', 'app, static, worker or services'],
  ['--framework <name>', 'framework'],
  ['--package-manager <name>', 'npm, pnpm, yarn, bun, pip …'],
  ['--install-command <line>', 'command that installs the dependencies'],
  ['--build-command <line>', 'command that builds the project'],
  ['--start-command <line>', 'command that starts the project'],
  ['--output-directory <folder>', 'folder with the built static site'],
  ['--root-directory <folder>', "the app's folder in the project"],
  ['--dockerfile-path <file>', 'path of the Dockerfile'],
  ['--compose-path <file>', 'path of the Compose file'],
  ['--image <name>', 'run this registry image instead of a folder, for example nginx:1.27'],
  ['--compose-profiles <names>', 'Compose profiles to run, comma-separated'],
  ['--port <number>', 'port that the project listens on'],
  ['--health-path <path>', 'health check path: answers 200 when the project is healthy'],
]

export function addSettingOptions(command: Command): Command {
  for (const [flags, description] of options) command.option(flags, description)
  return command.option(
    '--volume <name:path>',
    'keep the files at this path in a volume, for example data:/app/data; repeatable, other volumes stay',
    (value: string, before: Volume[] = []) => [...before, parseVolume(value)],
  )
}

function parseVolume(value: string): Volume {
  const [, name, mountPath] = /^([^:]+):(.+)$/s.exec(value) ?? []
  if (!name || !mountPath)
    throw new CliError(`--volume ${value} is not a name and a path. Write it as name:/path, for example data:/app/data.`, 2)
  if (/^\/+$/.test(mountPath))
    throw new CliError(`--volume ${value}: no volume can be mounted at /. Set another path, for example ${name}:/data.`, 2)
  return { name, mountPath }
}

/** Whether the command line sets a field of the project. */
export const hasSettingOptions = (command: Command): boolean =>
  Object.keys(settingsFromOptions(command.opts<Options>())).length > 0

type Options = Record<string, string | undefined> & { volume?: Volume[] }

/** Settings of a deployment. `addedVolumes` are added to the project's volumes; all other settings replace the project's. */
export interface Settings extends ProjectFile {
  addedVolumes?: Volume[]
}

/** Settings of `berth.json`, overridden by those of the command line. */
export function settingsOf(file: ProjectFile, command: Command): Settings {
  const overrides = settingsFromOptions(command.opts<Options>())
  refuseInvalid(ProjectFile, overrides, (field) => optionOf(field, command))
  const { volumes: added, ...rest } = overrides
  if (!added) return { ...file, ...rest }
  return file.volumes
    ? { ...file, ...rest, volumes: mergeVolumes(file.volumes, added) }
    : { ...file, ...rest, addedVolumes: added }
}

/** A volume replaces the one of the same name. */
const mergeVolumes = (volumes: readonly Volume[], added: readonly Volume[]): Volume[] => [
  ...volumes.filter(({ name }) => !added.some((one) => one.name === name)),
  ...added,
]

function settingsFromOptions({ volume, ...values }: Options): ProjectFile {
  const names = options.map(([flags]) => nameOf(flags)).filter((name) => values[name] !== undefined)
  const fields = Object.fromEntries(names.map((name) => [name, values[name] === '' ? null : values[name]]))
  const { port, healthPath, composeProfiles, ...texts } = fields
  return {
    ...texts,
    ...(port === undefined ? {} : { port: port === null ? null : Number(port) }),
    ...(composeProfiles === undefined ? {} : { composeProfiles: composeProfiles && namesIn(composeProfiles) }),
    ...(healthPath === undefined ? {} : { healthCheck: healthPath && { path: healthPath } }),
    ...(volume ? { volumes: volume } : {}),
  } as ProjectFile
}

const namesIn = (list: string) =>
  list
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)

/** `--build-command <line>` sets `buildCommand`. */
const nameOf = (flags: string) =>
  flags
    .split(' ')[0]!
    .slice(2)
    .replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Updates only the specified settings; all others keep their values. */
export async function applySettings(client: Connection, id: string, settings: Settings): Promise<void> {
  const { $schema: _schema, addedVolumes, cronJobs, ...fields } = settings
  if (addedVolumes) {
    const { data: project } = await client.call(contract.projects.get, { params: { id } })
    fields.volumes = mergeVolumes(project.config.volumes ?? [], addedVolumes)
  }
  if (Object.keys(fields).length > 0) await client.call(contract.projects.update, { params: { id }, body: fields })
  if (cronJobs) await applyTasks(client, id, cronJobs)
}
