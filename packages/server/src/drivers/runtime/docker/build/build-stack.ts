import { createHmac } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { posix } from 'node:path'
import { Readable } from 'node:stream'
import { readInside } from '../../../../source/read-inside.ts'
import { renameEntries } from '../../../tar/tar-names.ts'
import { appFolder } from '../../mount-path.ts'
import type { Artifact, BuildRequest, OutputLine } from '../../runtime.ts'
import { BuildFailed } from '../../runtime-errors.ts'
import { callEngine, callEngineOrMissing } from '../engine.ts'
import { ensureImage } from '../fetch-image.ts'
import { asBuildFailure, refuseId, removeDependencies } from '../images.ts'
import type { LabelMap } from '../labels.ts'
import { startArgv } from '../run/container-settings.ts'
import { BuildContainer } from './build-container.ts'
import { diskFullText } from './build-disk.ts'
import type { BuildParts } from './build-parts.ts'
import { dependencyFiles } from './dependency-layer.ts'
import { appUser, homeFolder, type Recipe, recipeFor } from './recipe-for.ts'
import { sendArchive } from './send-archive.ts'
import { hashFiles, listSource, packSource, readContextOf } from './source-tar.ts'

const user = `${appUser}:${appUser}`
const transferTimeoutMs = 60 * 60_000
/** Number of cached installs per project: for the newest build, and for another branch. */
const cachedInstallsPerProject = 2
/** Size limit of a manifest. With a longer one, the install runs on the whole source without a cache. */
const maxManifestLength = 4 * 1024 ** 2

export interface Build {
  request: BuildRequest
  recipe: Recipe
  parts: BuildParts
  onLine: (line: OutputLine) => void
  abort: AbortSignal
  deadline: number
  entries: Awaited<ReturnType<typeof listSource>>
}

/** Runs the commands of a plan in a container and commits the result as an image. */
export async function buildStack(
  request: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<Artifact> {
  const build = await prepareBuild(request, onLine, abort, parts)
  const container = await runCommands(build)
  try {
    return await container.withLimits((signal) => makeImage(container, build, signal))
  } finally {
    await container.end()
    await removeDependencies(request.owner.projectId, cachedInstallsPerProject, parts, abort).catch(() => undefined)
  }
}

export async function prepareBuild(
  request: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<Build> {
  const recipe = recipeFor(request.plan, parts.baseImages)
  if (!recipe)
    throw new BuildFailed(
      'bad_plan',
      'The language of the project was not detected. Add a Dockerfile, or set the image to build it in.',
    )
  const entries = await listSource(request.sourceFolder, { kind: 'generated' }, readContextOf(request, abort))
  return { request, recipe, parts, onLine, abort, deadline: performance.now() + request.timeoutMs, entries }
}

const userOf = ({ owner, registryLogins = [] }: BuildRequest) => ({ projectId: owner.projectId, logins: registryLogins })

/** Returns the running container with the project built in it. */
export async function runCommands(build: Build): Promise<BuildContainer> {
  const { request, recipe, parts, onLine, abort } = build
  const report = (message: string) => onLine({ time: new Date().toISOString(), stream: 'stdout', message })
  refuseId(recipe.buildImage)
  const base = await ensureImage(recipe.buildImage, parts, userOf(request), report, abort).catch((error) => {
    throw asBuildFailure(error)
  })
  const manifests = await dependencyFiles(request.plan, {
    paths: build.entries.filter(({ type }) => type === 'file').map(({ path }) => path),
    read: async (path) => (await readInside(await realpath(request.sourceFolder), path, { maxBytes: maxManifestLength })).text,
  })
  const cached = manifests ? await cachedInstall(base, manifests, build) : null
  const image = cached?.exists ? cached.tag : base
  const container = await BuildContainer.start(await containerSettings(image, build), parts.engine, onLine, abort)
  try {
    const env = await environmentFor(base, build)
    if (cached?.exists) container.report('stdout', 'The dependencies have not changed: using the cached installation')
    else await install(container, manifests, cached, env, build)
    if (manifests) await copyIntoContainer(container, build.entries, build)
    if (recipe.build) await container.run(recipe.build, { env, user, folder: workFolder(request) })
    await refuseTooLarge(container, request)
    return container
  } catch (error) {
    await container.end()
    throw error
  }
}

async function containerSettings(image: string, { request, parts, deadline }: Build) {
  const { owner, service, resources, timeoutMs } = request
  return {
    name: `berth-build-${[owner.deploymentId, service].filter(Boolean).join('-')}`,
    image,
    labels: parts.labels.ofOwner('build', owner, service),
    // The shared network is never removed, so that its name stays valid after the call.
    network: await parts.networks.withNetworks(null, [], async ([shared]) => shared?.network ?? ''),
    resources,
    timeoutMs,
    deadline,
  }
}

async function install(
  container: BuildContainer,
  manifests: string[] | null,
  cached: { tag: string; labels: LabelMap } | null,
  env: Record<string, string>,
  build: Build,
): Promise<void> {
  const { recipe, request, entries } = build
  const manifestPaths = manifests && new Set(manifests)
  await copyIntoContainer(container, manifestPaths ? entries.filter(({ path }) => manifestPaths.has(path)) : entries, build)
  for (const command of recipe.setup) await container.run(command, { env, user: '0:0', folder: '/' })
  if (recipe.install) await container.run(recipe.install, { env, user, folder: workFolder(request) })
  if (!cached) return
  const [repo, tag] = cached.tag.split(':')
  await container.withLimits((abort) =>
    callEngine(
      (abortSignal) =>
        container.container.commit(commitRequest(container.container.id, { repo, tag }, { Labels: cached.labels }, abortSignal)),
      {
        abort,
        timeoutMs: transferTimeoutMs,
      },
    ),
  )
}

/**
 * Finds a cached install by everything that affects its result: image, commands, manifests and variables. The tag is an HMAC
 * with a local key, so that it reveals no variable.
 */
async function cachedInstall(base: string, manifests: string[], { request, recipe, parts }: Build) {
  const { id } = await inspectImage(base, parts)
  const hash = createHmac('sha256', parts.cacheKey)
  hash.update(JSON.stringify([id, recipe.setup, recipe.install, request.plan.rootDirectory, recipe.env, recipe.buildEnv]))
  hash.update(JSON.stringify(Object.entries(request.secrets).sort()))
  const key = (await hashFiles(request.sourceFolder, manifests, hash)).digest('hex').slice(0, 32)
  const tag = `berth-${parts.labels.instance}/${request.owner.projectId}:install-${key}`
  const labels = parts.labels.of('dependencies', { project: request.owner.projectId, key })
  const found = await callEngineOrMissing(() => parts.engine.getImage(tag).inspect())
  return { tag, labels, exists: found !== undefined && parts.labels.isThisBerth(found.Config?.Labels) }
}

async function copyIntoContainer(container: BuildContainer, entries: Build['entries'], { request }: Build): Promise<void> {
  const appPath = appFolder.slice(1)
  const folders = [`${homeFolder.slice(1)}/`, `${appPath}/`, ...foldersTo(posix.join(appPath, request.plan.rootDirectory))]
  await container.withLimits((abort) => {
    const source = { folder: request.sourceFolder, entries, prefix: `${appPath}/`, folders, uid: appUser }
    const options = { abort, timeoutMs: transferTimeoutMs }
    return sendArchive(container.container, '/', () => packSource(source, abort), options)
  })
}

const foldersTo = (path: string) =>
  path
    .split('/')
    .filter(Boolean)
    .map((_, at, all) => `${all.slice(0, at + 1).join('/')}/`)

/** Environment of the commands. The project's variables override Berth's, as at run time. */
async function environmentFor(base: string, { request, recipe, parts }: Build): Promise<Record<string, string>> {
  return {
    ...recipe.env,
    ...recipe.buildEnv,
    PATH: searchPath(await inspectImage(base, parts), request),
    PWD: workFolder(request),
    PORT: String(request.plan.port),
    ...request.secrets,
  }
}

/** PATH with the project's own programs before the image's. */
function searchPath({ path }: { path: string }, request: BuildRequest): string {
  const work = workFolder(request)
  return [`${work}/.venv/bin`, `${work}/node_modules/.bin`, `${homeFolder}/.local/bin`, path].join(':')
}

const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

async function inspectImage(image: string, { engine }: BuildParts): Promise<{ id: string; path: string }> {
  const { Id, Config } = await callEngine(() => engine.getImage(image).inspect())
  const path = (Config?.Env ?? []).find((line) => line.startsWith('PATH='))?.slice('PATH='.length)
  return { id: Id, path: path || defaultPath }
}

export const workFolder = ({ plan }: BuildRequest) => posix.join(appFolder, plan.rootDirectory)

async function refuseTooLarge(container: BuildContainer, { resources }: BuildRequest): Promise<void> {
  const sizeBytes = await container.withLimits(() => container.sizeBytes())
  if (sizeBytes > resources.diskMb * 1024 * 1024)
    throw new BuildFailed('disk_full', diskFullText('The build', resources.diskMb), [...container.tail])
}

async function makeImage(container: BuildContainer, build: Build, abort: AbortSignal): Promise<Artifact> {
  const { request, recipe, parts } = build
  const { owner, service, plan } = request
  const target = {
    repo: `berth-${parts.labels.instance}/${owner.projectId}`,
    tag: [owner.deploymentId, service].filter(Boolean).join('.'),
  }
  container.report('stdout', 'Creating the image')
  if (recipe.copiedFolders.length === 0) await commit(container.container.id, recipe.buildImage, target, build, abort)
  else await copyToRunImage(container, target, build, abort)
  const reference = `${target.repo}:${target.tag}`
  const { Size } = await callEngine(() => parts.engine.getImage(reference).inspect(), { abort })
  return { kind: 'image', reference, sizeBytes: Size, startCommand: plan.startCommand }
}

/** Copies the result into an image without the build tools, through a container that is never started. */
async function copyToRunImage(
  container: BuildContainer,
  target: { repo: string; tag: string },
  build: Build,
  abort: AbortSignal,
): Promise<void> {
  const { recipe, parts, request } = build
  const image = await ensureImage(recipe.runImage, parts, userOf(request), (line) => container.report('stdout', line), abort)
  const labels = parts.labels.ofOwner('build', request.owner, request.service)
  const runContainer = await callEngine(
    (abortSignal) => parts.engine.createContainer({ Image: image, Cmd: ['never'], Labels: labels, abortSignal }),
    { abort },
  )
  try {
    for (const path of recipe.copiedFolders) {
      let archive = await container.container.getArchive({ path, abortSignal: abort }).catch(() => null)
      if (!archive) continue
      const parentFolder = posix.dirname(path)
      await makeFolder(runContainer, parentFolder, abort)
      const open = async () => {
        const read = archive ?? (await container.container.getArchive({ path, abortSignal: abort }))
        archive = null
        const isNeeded = (name: string) => (recipe.isExcluded(name) ? null : name)
        return Readable.from(renameEntries(read as unknown as AsyncIterable<Uint8Array>, isNeeded))
      }
      await sendArchive(runContainer, parentFolder, open, { abort, timeoutMs: transferTimeoutMs })
    }
    await commit(runContainer.id, image, target, build, abort)
  } finally {
    await callEngine((abortSignal) => runContainer.remove({ force: true, abortSignal })).catch(() => undefined)
  }
}

async function makeFolder(container: BuildContainer['container'], path: string, abort: AbortSignal): Promise<void> {
  if (path === '/') return
  const source = { folder: '/', entries: [], prefix: '', folders: foldersTo(path), uid: 0 }
  await sendArchive(container, '/', () => packSource(source, abort), { abort })
}

async function commit(container: string, base: string, target: { repo: string; tag: string }, build: Build, abort: AbortSignal) {
  const { recipe, parts, request } = build
  const { owner, service, plan } = request
  const env = { ...recipe.env, ...recipe.runEnv, PATH: searchPath(await inspectImage(base, parts), request) }
  const config = {
    Cmd: plan.startCommand ? startArgv(plan.startCommand) : ['/bin/sh'],
    Entrypoint: [],
    Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
    User: user,
    WorkingDir: workFolder(request),
    ExposedPorts: { [`${plan.port}/tcp`]: {} },
    Labels: parts.labels.ofOwner('artifact', owner, service),
  }
  await callEngine(
    (abortSignal) => parts.engine.getContainer(container).commit(commitRequest(container, target, config, abortSignal)),
    {
      abort,
      timeoutMs: transferTimeoutMs,
    },
  )
}

/** Splits the request into query and body, which dockerode would mix. */
const commitRequest = (container: string, target: object, config: object, abortSignal: AbortSignal) =>
  ({ _query: { container, pause: true, ...target }, _body: config, abortSignal }) as object
