import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { dirname, join, posix, relative, sep } from 'node:path'
import type { ImageInspectInfo } from 'dockerode'
import { errorMessage } from '../../../../platform/error-message.ts'
import { instructionsOf, splitInstruction } from '../../../../source/dockerfile/instructions.ts'
import { readInside } from '../../../../source/read-inside.ts'
import type { Artifact, BuildRequest, OutputLine } from '../../runtime.ts'
import { BuildFailed } from '../../runtime-errors.ts'
import { callEngine } from '../engine.ts'
import { ensureImage } from '../fetch-image.ts'
import { asBuildFailure, contentOf, refuseId, removeQuietly } from '../images.ts'
import { type BuildSource, buildClassic } from './build-classic.ts'
import { diskFullText } from './build-disk.ts'
import { buildInBuildKit } from './build-in-buildkit.ts'
import type { BuildParts } from './build-parts.ts'
import { BuildKitSteps } from './buildkit-steps.ts'
import { withLocalBaseImages } from './dockerfile-bases.ts'
import { DockerfileBuild } from './dockerfile-build.ts'
import { type AddedFile, downloadFolder, type GuardedDockerfile, guardDockerfile, refuseTrigger } from './guarded-dockerfile.ts'
import { declaredArguments, withoutUnneededStages } from './needed-stages.ts'
import { listSource, readContextOf } from './source-tar.ts'
import { DockerfileRefused, maxDockerfile } from './strict-dockerfile.ts'
import { withLocalSyntaxImage } from './syntax-line.ts'

/** Arguments that every build accepts without declaration. */
const predefinedArguments = new Set(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
)

/** Builds the project's own Dockerfile. Leaves out stages that the result does not need. */
export async function buildDockerfile(
  request: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<Artifact> {
  const { plan, owner, service } = request
  const context = await contextFolder(request)
  const file = posix.normalize(plan.dockerfilePath ?? 'Dockerfile')
  const report = (message: string) => onLine({ time: new Date().toISOString(), stream: 'stdout', message })
  const root = await realpath(request.sourceFolder)
  const dockerfile = plan.dockerfileText ?? (await readDockerfile(context, file, root))
  const guarded = await validateDockerfile(dockerfile, request, parts, report, abort)
  const { text, added, onlyTimeLimitReason } = guarded
  const reference = `berth-${parts.labels.instance}/${owner.projectId}:${[owner.deploymentId, service].filter(Boolean).join('.')}`
  const builder = new DockerfileBuild(request, onLine, abort, parts)
  const ignore = plan.dockerfileText === undefined ? await readIgnore(context, file, root) : ''
  const entries = await listSource(context, { kind: 'dockerignore', text: ignore }, readContextOf(request, abort))
  const downloaded = await downloadAddedFiles(added, request, parts, report, abort)
  const source: BuildSource = {
    folder: context,
    entries: entries.filter(({ path }) => path.split('/', 1)[0] !== downloadFolder),
    files: downloaded.files,
    dockerfile: text,
  }
  const options = {
    t: reference,
    labels: parts.labels.ofOwner('artifact', owner, service),
    buildargs: { ...guarded.platformArguments, ...guarded.buildArguments },
  }
  try {
    if (guarded.builder === 'buildkit')
      await buildInBuildKit(builder, source, options, { request, parts, report, abort, onlyTimeLimitReason })
    else await buildClassic(builder, source, options, { request, parts, report, abort })
  } finally {
    await downloaded.remove()
  }
  const image = await callEngine(() => parts.engine.getImage(reference).inspect(), { abort })
  if (image.Size - baseImageSize(image, guarded.bases) > request.resources.diskMb * 1024 * 1024) {
    await removeQuietly(reference, parts.engine)
    throw new BuildFailed('disk_full', diskFullText('The build', request.resources.diskMb))
  }
  return { kind: 'image', reference, sizeBytes: image.Size, startCommand: plan.startCommand, content: contentOf(image) }
}

/** Size of the base image's layers, which the build did not write. */
function baseImageSize({ RootFS }: ImageInspectInfo, bases: readonly ImageInspectInfo[]): number {
  const layers = RootFS?.Layers ?? []
  const matchingBases = bases.filter((base) => (base.RootFS?.Layers ?? []).every((layer, at) => layer === layers[at]))
  return Math.max(0, ...matchingBases.map(({ Size }) => Size))
}

interface ValidatedDockerfile extends GuardedDockerfile {
  builder: 'buildkit' | 'classic'
  /** Reason why BuildKit has only a time limit here. Null if all limits apply. */
  onlyTimeLimitReason: string | null
  buildArguments: Record<string, string>
  bases: ImageInspectInfo[]
}

/** The Dockerfile after validation: without unneeded stages, and with base images under their local names. */
async function validateDockerfile(
  dockerfile: string,
  request: BuildRequest,
  parts: BuildParts,
  report: (line: string) => void,
  abort: AbortSignal,
): Promise<ValidatedDockerfile> {
  const { projectId, environment } = request.owner
  const user = { projectId, logins: request.registryLogins ?? [] }
  const bases: ImageInspectInfo[] = []
  const findImage = async (image: string) => {
    refuseId(image)
    const name = await ensureImage(image, parts, user, report, abort)
    const base = await callEngine(() => parts.engine.getImage(name).inspect(), { abort })
    bases.push(base)
    for (const trigger of (base.Config as { OnBuild?: string[] | null })?.OnBuild ?? []) refuseTrigger(trigger)
    return name
  }
  try {
    const { Version, Os, Arch } = await callEngine(() => parts.engine.version(), { abort })
    const supportsHeredocs = Number.parseInt(Version, 10) >= 23
    // Caches are separate per environment: a preview, perhaps of a fork, must not fill the cache that production reads.
    const cacheOwner = environment === 'production' ? projectId : `${projectId}@${environment}`
    const platform = `${Os}/${Arch}`
    const allArguments = argumentsFor(dockerfile, request)
    const target = request.plan.dockerTarget
    const needed = withoutUnneededStages(dockerfile, { target, buildArguments: allArguments.values, platform })
    const { values: buildArguments, secret } = argumentsFor(needed, request)
    for (const name of secret)
      report(
        `ARG ${name} is left empty: the variable is secret, and a build argument stays readable in the image. Read it with RUN --mount=type=secret,id=${name}`,
      )
    const guarded = await guardDockerfile(needed, { cacheOwner, buildArguments, supportsHeredocs, platform, findImage })
    const text = await withLocalBaseImages(guarded.text, buildArguments, findImage)
    const isBuildKitNeeded = guarded.hasHeredocs || needsBuildKit(text)
    const onlyTimeLimitReason = await BuildKitSteps.unsupportedReason(parts.engine)
    const usesBuildKit = isBuildKitNeeded || (parts.prefersBuildKit && onlyTimeLimitReason === null && hasBuildKit(Os))
    if (!usesBuildKit) return { ...guarded, text, buildArguments, bases, onlyTimeLimitReason, builder: 'classic' }
    const isSyntaxImageNeeded = guarded.hasHeredocs && !supportsHeredocs
    const withSyntaxImage = await withLocalSyntaxImage(text, { findImage, isNeeded: isSyntaxImageNeeded, report })
    return { ...guarded, text: withSyntaxImage, buildArguments, bases, onlyTimeLimitReason, builder: 'buildkit' }
  } catch (error) {
    if (error instanceof DockerfileRefused) throw new BuildFailed('bad_plan', `The Dockerfile is not supported: ${error.message}`)
    throw asBuildFailure(error)
  }
}

/** Every Docker engine for Linux since 18.09 (API 1.39) has BuildKit, as the default builder or not. */
const hasBuildKit = (os: string) => os === 'linux'

/**
 * Values for the arguments that the Dockerfile declares: from the plan, else the project's variable of that name. A secret
 * variable is never passed, because arguments stay readable in the image's history.
 */
function argumentsFor(dockerfile: string, { plan, secrets, secretKeys }: BuildRequest) {
  const declared = new Set(declaredArguments(dockerfile))
  const planArguments = Object.entries(plan.buildArguments).filter(
    ([name]) => declared.has(name) || predefinedArguments.has(name),
  )
  const values = Object.fromEntries(planArguments)
  const secret: string[] = []
  for (const name of declared) {
    if (Object.hasOwn(plan.buildArguments, name) || !Object.hasOwn(secrets, name) || name.startsWith('BUILDKIT_')) continue
    if (secretKeys?.includes(name) ?? true) secret.push(name)
    else values[name] = secrets[name] as string
  }
  return { values, secret }
}

const addTimeoutMs = 10 * 60_000

/** Fetches the URLs of ADD. The engine would fetch them from the machine's own network, and reach services on loopback. */
async function downloadAddedFiles(
  added: readonly AddedFile[],
  { resources }: BuildRequest,
  parts: BuildParts,
  report: (line: string) => void,
  abort: AbortSignal,
): Promise<{ files: Map<string, string>; remove(): Promise<void> }> {
  const files = new Map<string, string>()
  if (added.length === 0) return { files, remove: async () => undefined }
  const folder = await mkdtemp(join(dirname(parts.artifactsFolder), 'added-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    let index = 0
    for (const { url, path, sha256 } of added) {
      report(`Fetching ${url}`)
      const file = join(folder, String(index++))
      const limits = { maxBytes: resources.diskMb * 1024 * 1024, timeoutMs: addTimeoutMs, abort }
      const result = await parts.download(url, file, limits).catch((error: unknown) => {
        abort.throwIfAborted()
        const message = errorMessage(error)
        throw new BuildFailed('command_failed', `ADD ${url}: ${message}. Use RUN to fetch files from a private network`)
      })
      if (sha256 !== null && result.sha256 !== sha256)
        throw new BuildFailed('command_failed', `ADD ${url}: the checksum does not match. The file has sha256:${result.sha256}`)
      files.set(path, file)
    }
    return { files, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Resolves the build context. The folder may be missing, or be a link out of the source. */
async function contextFolder({ sourceFolder, plan }: BuildRequest): Promise<string> {
  const root = await realpath(sourceFolder)
  const context = await realpath(join(root, plan.rootDirectory)).catch(() => null)
  if (!context || (context !== root && !context.startsWith(root + sep)))
    throw new BuildFailed('bad_plan', `The folder ${plan.rootDirectory} does not exist in the project`)
  return context
}

const maxIgnoreFileBytes = 1024 ** 2

/** Reads the Dockerfile. It may be outside of the build context, but not outside of the project. */
async function readDockerfile(context: string, file: string, root: string): Promise<string> {
  const read = await readInside(root, relative(root, join(context, file)), { maxBytes: maxDockerfile })
  if (read.text !== null) return read.text
  if (read.why === 'too large')
    throw new BuildFailed(
      'bad_plan',
      `${file} is larger than ${maxDockerfile / 1024} KiB: move scripts and data into files of their own`,
    )
  throw new BuildFailed('bad_plan', `${file} does not exist in the project`)
}

/** Reads the Dockerfile's own ignore file, else that of the context. Rejects a link out of the project. */
export async function readIgnore(context: string, file: string, root: string): Promise<string> {
  for (const name of [`${file}.dockerignore`, '.dockerignore']) {
    const read = await readInside(root, relative(root, join(context, name)), { maxBytes: maxIgnoreFileBytes })
    if (read.text !== null) return read.text
    if (read.why === 'outside')
      throw new BuildFailed('bad_plan', `${name} is not a file of the project, or is a link that points outside it`)
    if (read.why === 'too large') throw new BuildFailed('bad_plan', `${name} is larger than 1 MiB`)
  }
  return ''
}

const buildKitOption = /^--(mount|link|chmod|parents|exclude|network|security)(=|$)/

/** Whether the Dockerfile uses features of BuildKit. The classic builder is preferred because the engine itself limits it. */
export function needsBuildKit(dockerfile: string): boolean {
  for (const { keyword, rest, hasHereDocuments } of instructionsOf(dockerfile)) {
    if (hasHereDocuments) return true
    if (['RUN', 'COPY', 'ADD'].includes(keyword) && splitInstruction(rest).options.some((option) => buildKitOption.test(option)))
      return true
  }
  return false
}
