import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { dirname, join, posix, relative, sep } from 'node:path'
import { errorMessage } from '../../../../platform/error-message.ts'
import { instructionsOf, wordsOf } from '../../../../source/dockerfile/instructions.ts'
import { readInside } from '../../../../source/read-inside.ts'
import { type Artifact, BuildFailed, type BuildRequest, type OutputLine } from '../../runtime.ts'
import { ask } from '../engine.ts'
import { asBuildFailure, contentOf, ensureImage } from '../images.ts'
import { buildInBuildKit } from './build-in-buildkit.ts'
import type { BuildParts } from './build-parts.ts'
import { withBasesHere } from './dockerfile-bases.ts'
import { DockerfileBuild } from './dockerfile-build.ts'
import { type AddedFile, type GuardedDockerfile, guardedDockerfile, refuseTrigger } from './guarded-dockerfile.ts'
import { listSource, packSource, readFor } from './source-tar.ts'
import { DockerfileRefused, dockerfileAtMost } from './strict-dockerfile.ts'
import { withSyntaxHere } from './syntax-line.ts'

/** Builds the project's own Dockerfile. Its variables are in no build argument: those stay readable in the image's history. */
export async function buildDockerfile(
  request: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<Artifact> {
  const { plan, owner, service } = request
  const context = await contextFolder(request)
  const file = posix.normalize(plan.dockerfilePath ?? 'Dockerfile')
  const say = (message: string) => onLine({ time: new Date().toISOString(), stream: 'stdout', message })
  const root = await realpath(request.sourceFolder)
  const written = plan.dockerfileText ?? (await readDockerfile(context, file, root))
  const guarded = await judged(written, request, parts, say, abort)
  const { text, added, usesBuildKit } = guarded
  const reference = `berth-${parts.labels.instance}/${owner.projectId}:${[owner.deploymentId, service].filter(Boolean).join('.')}`
  if (!usesBuildKit) say('Building the Dockerfile')
  const builder = new DockerfileBuild(request, onLine, abort, parts)
  const ignore = plan.dockerfileText === undefined ? await readIgnore(context, file, root) : ''
  const fetched = await fetchAdded(added, request, parts, say, abort)
  try {
    const tar = await packContext(context, ignore, text, fetched.files, request, abort)
    const options = {
      t: reference,
      dockerfile: tar.dockerfile,
      labels: parts.labels.ofOwner('artifact', owner, service),
      buildargs: { ...guarded.platformArguments, ...plan.buildArguments },
      ...(plan.dockerTarget ? { target: plan.dockerTarget } : {}),
    }
    if (usesBuildKit) await buildInBuildKit(builder, tar, options, { request, parts, say, abort })
    else await parts.networks.forBuild((networkmode) => builder.run(tar, { ...options, networkmode }))
  } finally {
    await fetched.remove()
  }
  const image = await ask(() => parts.engine.getImage(reference).inspect(), { abort })
  return { kind: 'image', reference, sizeBytes: image.Size, startCommand: plan.startCommand, content: contentOf(image) }
}

/** The Dockerfile as it may be built, with its images under the names that they have here. */
async function judged(
  written: string,
  { owner: { projectId, environment }, plan: { buildArguments } }: BuildRequest,
  parts: BuildParts,
  say: (line: string) => void,
  abort: AbortSignal,
): Promise<GuardedDockerfile & { usesBuildKit: boolean }> {
  const findImage = async (image: string) => {
    const name = await ensureImage(image, parts, projectId, say, abort)
    const { Config } = await ask(() => parts.engine.getImage(name).inspect(), { abort })
    for (const trigger of (Config as { OnBuild?: string[] | null })?.OnBuild ?? []) refuseTrigger(trigger)
    return name
  }
  try {
    const { Version, Os, Arch } = await ask(() => parts.engine.version(), { abort })
    const knowsHeredocs = Number.parseInt(Version, 10) >= 23
    // What a preview leaves in a cache, a fork's perhaps, must not be what production's next build reads.
    const caches = environment === 'production' ? projectId : `${projectId}@${environment}`
    const platform = `${Os}/${Arch}`
    const guarded = await guardedDockerfile(written, { caches, buildArguments, knowsHeredocs, platform, findImage })
    const text = await withBasesHere(guarded.text, buildArguments, findImage)
    const usesBuildKit = guarded.hasHeredocs || needsBuildKit(text)
    if (!usesBuildKit) return { ...guarded, text, usesBuildKit }
    const isNeeded = guarded.hasHeredocs && !knowsHeredocs
    return { ...guarded, text: await withSyntaxHere(text, { findImage, isNeeded, say }), usesBuildKit }
  } catch (error) {
    if (error instanceof DockerfileRefused) throw new BuildFailed('bad_plan', `The Dockerfile is not built: ${error.message}`)
    throw asBuildFailure(error)
  }
}

const addMs = 10 * 60_000

/** The engine would fetch what an ADD names from the machine's own network, with all that listens there for itself alone. */
async function fetchAdded(
  added: readonly AddedFile[],
  { allotment }: BuildRequest,
  parts: BuildParts,
  say: (line: string) => void,
  abort: AbortSignal,
): Promise<{ files: Map<string, string>; remove(): Promise<void> }> {
  const files = new Map<string, string>()
  if (added.length === 0) return { files, remove: async () => undefined }
  const folder = await mkdtemp(join(dirname(parts.artifactsFolder), 'added-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    let at = 0
    for (const { url, path, sha256 } of added) {
      say(`Fetching ${url}`)
      const file = join(folder, String(at++))
      const limits = { maxBytes: allotment.diskMb * 1024 * 1024, timeoutMs: addMs, abort }
      const got = await parts.download(url, file, limits).catch((error: unknown) => {
        abort.throwIfAborted()
        const words = errorMessage(error)
        throw new BuildFailed('command_failed', `ADD ${url}: ${words}. What is inside your own network, fetch in a RUN`)
      })
      if (sha256 !== null && got.sha256 !== sha256)
        throw new BuildFailed('command_failed', `ADD ${url}: its checksum is ${got.sha256}`)
      files.set(path, file)
    }
    return { files, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** A Dockerfile names a folder that may not exist, or lead out of the source by a link. */
async function contextFolder({ sourceFolder, plan }: BuildRequest): Promise<string> {
  const root = await realpath(sourceFolder)
  const context = await realpath(join(root, plan.rootDirectory)).catch(() => null)
  if (!context || (context !== root && !context.startsWith(root + sep)))
    throw new BuildFailed('bad_plan', `There is no folder ${plan.rootDirectory} in the project`)
  return context
}

const maxBytes = 1024 ** 2

/** It may lie beside its context, but not outside of the project. */
async function readDockerfile(context: string, file: string, root: string): Promise<string> {
  const read = await readInside(root, relative(root, join(context, file)), { maxBytes: dockerfileAtMost })
  if (read.text !== null) return read.text
  if (read.why === 'too large')
    throw new BuildFailed(
      'bad_plan',
      `${file} is larger than ${dockerfileAtMost / 1024} KiB: move scripts and data into files of their own`,
    )
  throw new BuildFailed('bad_plan', `There is no ${file} in the project`)
}

/** The Dockerfile's own, else that of the context. One that is no plain file of the project would leave out anything or nothing. */
export async function readIgnore(context: string, file: string, root: string): Promise<string> {
  for (const name of [`${file}.dockerignore`, '.dockerignore']) {
    const read = await readInside(root, relative(root, join(context, name)), { maxBytes })
    if (read.text !== null) return read.text
    if (read.why === 'outside') throw new BuildFailed('bad_plan', `${name} is no file of the project, or a link out of it`)
    if (read.why === 'too large') throw new BuildFailed('bad_plan', `${name} is larger than 1 MiB`)
  }
  return ''
}

async function packContext(
  context: string,
  ignore: string,
  text: string,
  files: Map<string, string>,
  request: BuildRequest,
  abort: AbortSignal,
) {
  const entries = await listSource(context, { kind: 'dockerignore', text: ignore }, readFor(request, abort))
  // The builder needs the file even where it is left out of the copy, and under a name that is not in the project.
  const dockerfile = `.berth-dockerfile-${process.pid}`
  const own = new Set([dockerfile, '.berth-added'])
  const theirs = entries.filter(({ path }) => !own.has(path.split('/', 1)[0] ?? ''))
  const tar = packSource(
    { folder: context, entries: theirs, prefix: '', makeFirst: [], uid: 0, more: new Map([[dockerfile, text]]), files },
    abort,
  )
  return Object.assign(tar, { dockerfile })
}

const ofBuildKit = /^--(mount|link|chmod|parents|exclude|network|security)(=|$)/

/** Only BuildKit knows these; the other builder is held to limits by the engine itself, wherever that is. */
export function needsBuildKit(dockerfile: string): boolean {
  for (const { keyword, rest, hasHereDocuments } of instructionsOf(dockerfile)) {
    if (hasHereDocuments) return true
    if (['RUN', 'COPY', 'ADD'].includes(keyword) && wordsOf(rest).options.some((option) => ofBuildKit.test(option))) return true
  }
  return false
}
