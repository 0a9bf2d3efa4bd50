import { posix } from 'node:path'
import {
  type ComposeBuild,
  type ComposeFile,
  findLinksOutside,
  lineOf,
  type Problem,
  readEnvFile,
  readStack,
  type SourceLine,
  type StackFiles,
  toProjectServices,
} from '../../compose/index.ts'
import { exposedService } from '../../exposed-service.ts'
import type { Evidence } from '../detection.ts'
import type { Folder } from '../folder.ts'
import type { App, Plan, Stack } from '../stack.ts'
import { hasDockerfile, languageOf } from './docker.ts'

/** File names in Compose's own order of precedence. */
const names = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml']
const overrides = names.map((name) => name.replace(/\.ya?ml$/, (ending) => `.override${ending}`))

/** A Compose file that builds from this folder describes the project; one that does not may only run services for development. */
export const composeThatBuilds: readonly Stack[] = [
  {
    framework: 'compose',
    when: async (app) => evidenceOf(app, (file) => describesProject(app, file)),
    plan: composePlan,
  },
]
export const anyCompose: readonly Stack[] = [
  { framework: 'compose', when: async (app) => evidenceOf(app, () => true), plan: composePlan },
]

/** Whether the Compose file only wraps the project's own image: one service, built from this folder. */
export async function isComposeOfOne(app: App): Promise<boolean> {
  const { services = [] } = (await composeOf(app))?.file ?? {}
  const [only, another] = services
  return only !== undefined && another === undefined && only.build !== null && posix.normalize(only.build.context) === '.'
}

/** A warning about a Compose file that is not used. */
export async function composeNotUsedWarning(app: App): Promise<string | null> {
  const found = await composeOf(app)
  return found
    ? `${found.name} builds nothing of this folder (it runs ${found.file.services
        .slice(0, 20)
        .map((service) => service.name)
        .join(', ')}); it is not used`
    : null
}

type Found = { name: string; override: string | null; file: ComposeFile; lines: Lines }
type Lines = Record<string, SourceLine>

const composeOf = (app: App): Promise<Found | null> => app.folder.once('compose', () => readComposeOf(app))

async function readComposeOf({ folder, variables, composePath }: App): Promise<Found | null> {
  const name = composePath ?? names.find((one) => folder.has(one))
  if (name === undefined) return null
  const directory = posix.dirname(name).replace(/^\.$/, '')
  // The `.env` files next to the Compose file and in the root; the project's variables override both.
  const envFiles = [...new Set(['.env', posix.join(directory, '.env')])]
  const env = variables
    ? Object.assign({}, ...(await Promise.all(envFiles.map((one) => variablesIn(folder, one, variables)))), variables)
    : {}
  // As with `docker compose -f`, a named file is used without an override file.
  const override = composePath ? undefined : overrides.find((one) => folder.has(one))
  const paths = [name, ...(override ? [override] : [])]
  const texts = await Promise.all(paths.map((path) => folder.text(path)))
  const files = paths.map((path, index) => ({ path: `/${path}`, text: texts[index] ?? '' }))
  const { file, lines } = await readWithExtended(folder, files, directory, env)
  const unreadable = paths.filter((_, index) => texts[index] === null)
  for (const path of unreadable)
    file.refused.unshift({ path: '', message: `"${path}" cannot be read: it is larger than 1 MiB, or a link out of the project` })
  return { name, override: override ?? null, file, lines }
}

/** Whether the file describes how the project is built, even in an unsupported way. */
function describesProject(app: App, file: ComposeFile): boolean {
  if (file.services.some(({ build }) => isBuiltHere(app, build))) return true
  // Without a Dockerfile, the stack of the other files is used.
  return hasDockerfile(app) && (file.refused.some(isAboutBuild(file)) || file.services.some(({ build }) => isOwnBuild(build)))
}

/** A refusal of the whole file, or of a service's build. */
const isAboutBuild =
  ({ services }: ComposeFile) =>
  ({ path }: Problem) =>
    path === '' || path === 'services' || services.some(({ name, build }) => !build && path.startsWith(`services.${name}.build`))

/**
 * Excludes builds inside dependency folders that the source does not contain (Laravel Sail builds below `vendor`); they are for
 * development.
 */
const isOwnBuild = (build: ComposeFile['services'][number]['build']) =>
  build !== null && !/^(vendor|node_modules)(\/|$)/.test(build.context)

/** Maximum depth of files that extend other files. */
const maxRounds = 4
const maxExtended = 20

/** Reads the files with those they extend; variables from `env_file` are added elsewhere. */
async function readWithExtended(
  folder: Folder,
  files: StackFiles['files'],
  directory: string,
  env: Record<string, string>,
): Promise<{ file: ComposeFile; lines: Lines }> {
  const others: Record<string, string | null> = {}
  for (let round = 0; ; round++) {
    const {
      file,
      wanted,
      lines = {},
    } = readStack({ workingDir: `/${directory}`, files, dotEnv: null, others }, { folder: folder.absolutePath, directory, env })
    const missing = wanted.filter((path) => /\.ya?ml$/.test(path)).slice(0, maxExtended)
    if (missing.length === 0 || round === maxRounds) return { file, lines }
    for (const path of missing) others[path] = await folder.text(path.slice(1))
  }
}

/** Returns null when the file does not exist. */
const variablesIn = async (
  folder: Folder,
  path: string,
  known: Readonly<Record<string, string>>,
): Promise<Record<string, string> | null> => {
  const text = await folder.text(path)
  if (text === null) return null
  return folder.once(`variables ${path}`, () => readEnvFile(text, known))
}

/** Limit over all services: each of them may reference the same large file. */
const maxVariables = 20_000

/** Adds the variables of `env_file`; the service's own take precedence. */
async function fillFromEnvFiles({ folder, variables }: App, file: ComposeFile): Promise<Problem[]> {
  const missing: Problem[] = []
  let remaining = maxVariables
  if (!variables) return missing
  for (const service of file.services) {
    const found: Record<string, string> = {}
    const at = `services.${service.name}.env_file`
    for (const [path, required] of new Map(service.envFiles.map((one) => [one.path, one.required]))) {
      const fileVariables = await variablesIn(folder, path, { ...(await variablesIn(folder, '.env', variables)), ...variables })
      remaining -= Object.keys(fileVariables ?? {}).length
      if (remaining < 0)
        return [...missing, { path: at, message: `the files contain more than ${maxVariables} variables together` }]
      Object.assign(found, fileVariables)
      const text = `the file "${path}" does not exist; set its variables on the project`
      if (fileVariables === null && required) missing.push({ path: at, message: text })
    }
    service.environment = { ...found, ...service.environment }
  }
  return missing
}

/** Project variables by service. If the file references none of them, every service gets all of them. */
function variablesByService({ variables = {} }: App, { services }: ComposeFile, missingEnvFiles: readonly Problem[]) {
  const referencedByService = new Map(
    services.map(({ name, variables: own }) => [name, own.filter((one) => Object.hasOwn(variables, one))]),
  )
  if (![...referencedByService.values()].some((own) => own.length > 0)) return { byService: undefined, unused: [] }
  // If an env file is missing from the source, its variables are expected to be set on the project.
  const getsAllVariables = new Set(missingEnvFiles.map(({ path }) => path))
  const byService = [...referencedByService].filter(([name]) => !getsAllVariables.has(`services.${name}.env_file`))
  const used = new Set([...referencedByService.values()].flat())
  const unused = byService.length < referencedByService.size ? [] : Object.keys(variables).filter((name) => !used.has(name))
  return { byService: Object.fromEntries(byService), unused: unused.slice(0, 20) }
}

async function evidenceOf(app: App, condition: (file: ComposeFile) => boolean): Promise<Evidence[] | null> {
  const found = await composeOf(app)
  if (!found || !condition(found.file)) return null
  const services = found.file.services.map((service) => service.name)
  return [
    {
      file: app.folder.full(found.name),
      says: services.length > 0 ? `runs ${services.slice(0, 20).join(', ')}` : 'is a Compose file',
    },
  ]
}

function isBuiltHere({ folder }: App, build: ComposeFile['services'][number]['build']): boolean {
  return build !== null && (build.dockerfileInline !== null || folder.has(dockerfileOf(build)))
}

const dockerfileOf = ({ context, dockerfile }: ComposeBuild) => dockerfile ?? posix.join(context, 'Dockerfile')

/** Services whose Dockerfile is missing from the source. */
const missingDockerfiles = (app: App, services: ComposeFile['services']): Problem[] =>
  services.flatMap(({ name, build }) =>
    build === null || isBuiltHere(app, build)
      ? []
      : [{ path: `services.${name}.build`, message: `"${dockerfileOf(build)}" does not exist in the source` }],
  )

async function composePlan(app: App): Promise<Plan> {
  const found = (await composeOf(app))!
  const name = found.name
  // A copy, as env file variables are added to its services and the file is cached.
  const file = { ...found.file, services: found.file.services.map((service) => ({ ...service })) }
  const missingEnvFiles = await fillFromEnvFiles(app, file)
  const { services, files, leftOut: excluded, warnings, refused: limitRefusals } = toProjectServices(file, app.composeProfiles)
  const withVolumes = foldersAsVolumes(app, services)
  const { byService, unused } = variablesByService(app, file, missingEnvFiles)
  const links = await findLinksOutside(file.services, app.folder.absolutePath)
  const exposed = exposedService(services)
  const port = exposed?.ports?.[0] ?? null
  // Problems of services that are not started do not count.
  const serviceAt = serviceFinder(file.services)
  const isStarted = ({ path }: Problem) => !excluded.includes(serviceAt(path) ?? '')
  const withLocation = (problem: Problem) =>
    [locationIn(found, problem.path), problem.path, problem.message].filter(Boolean).join(': ')
  const refused = [...file.refused, ...limitRefusals, ...links, ...missingDockerfiles(app, file.services), ...withVolumes.refused]
    .filter(isStarted)
    .map(withLocation)
  const missing = file.missing.filter(isStarted).map(({ path, variable, message }) => ({
    path,
    message: `the variable ${variable} must be set${message ? ` (${message})` : ''}`,
  }))
  const unset = firstOfEach(missing).map(withLocation)
  return {
    type: 'services',
    language: languageOf(app),
    name: file.name,
    port,
    services: withVolumes.services,
    ...(byService ? { serviceVariables: byService } : {}),
    ...(Object.keys(files).length > 0 ? { serviceFiles: files } : {}),
    evidence: [
      ...(found.override ? [{ file: app.folder.full(found.override), says: `overrides ${name}` }] : []),
      ...(exposed ? [{ file: app.folder.full(name), says: `${exposed.name} is reached at ${port}` }] : []),
    ],
    refused: [...refused, ...unset],
    warnings: [
      ...refused.map((message) => `refused: ${message}`),
      ...unset,
      ...[...firstOfEach(file.warnings), ...warnings, ...withVolumes.warnings, ...missingEnvFiles].map(withLocation),
      ...unused.map(
        (one) => `${name}: the variable ${one} reaches no service: add it to the environment of the services that need it`,
      ),
      ...[...names, ...overrides]
        .filter((other) => !app.composePath && other !== name && other !== found.override && app.folder.has(other))
        .map((other) => `${other} exists too; only ${name} is read`),
    ],
  }
}

/** The service of a problem's path. Service names may contain dots: `services.a.b.image` belongs to `a.b` if that exists. */
function serviceFinder(services: ComposeFile['services']): (path: string) => string | undefined {
  const longestFirst = services.map(({ name }) => name).sort((left, right) => right.length - left.length)
  return (path) => longestFirst.find((name) => path === `services.${name}` || path.startsWith(`services.${name}.`))
}

/** The file and line of a field. */
function locationIn({ name, lines }: Found, path: string): string {
  const at = lineOf(path, lines)
  return at ? `${at.file}, line ${at.line}` : name
}

/**
 * Turns bound folders that the source does not contain into volumes: Compose would create them on the host and keep them. A
 * folder that is only mounted read-only is refused, since it would always be empty.
 */
function foldersAsVolumes({ folder }: App, services: Plan['services'] = []) {
  const warnings: Problem[] = []
  const refused: Problem[] = []
  const exists = (path: string) => path === '.' || folder.has(path) || folder.hasFolder(path)
  const withVolumes = services.map((service) => ({
    ...service,
    volumes:
      service.volumes?.map((mount) => {
        const { type, source, readOnly } = mount
        if (type !== 'bind' || !source || exists(source)) return mount
        const path = `services.${service.name}.volumes`
        const isWritten = services.some((one) =>
          one.volumes?.some((other) => other.type === 'bind' && other.source === source && !other.readOnly),
        )
        if (readOnly && !isWritten) {
          refused.push({ path, message: `"${source}" does not exist in the source` })
          return mount
        }
        const name = volumeNameOf(source, services)
        warnings.push({ path, message: `"${source}" is not in the source: it is kept as the volume ${name}` })
        return { ...mount, type: 'volume' as const, source: name }
      }) ?? [],
  }))
  return { services: withVolumes, warnings, refused }
}

/** A volume name for the folder that differs from the file's own volumes. */
function volumeNameOf(source: string, services: NonNullable<Plan['services']>): string {
  const name =
    source
      .replace(/[^a-zA-Z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 50) || 'data'
  const isTaken = services.some(({ volumes = [] }) => volumes.some((one) => one.type === 'volume' && one.source === name))
  return isTaken ? `${name}-folder` : name
}

/** Keeps only the first warning about an unset variable. */
function firstOfEach(problems: readonly Problem[]): Problem[] {
  const seen = new Set<string>()
  return problems.filter(({ message }) => {
    const isRepeated = message.startsWith('the variable ') && seen.has(message)
    seen.add(message)
    return !isRepeated
  })
}
