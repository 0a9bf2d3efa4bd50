import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { dirname, join, posix, relative, sep } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { errorMessage } from '../../../../platform/error-message.ts'
import { instructionsOf, wordsOf } from '../../../../source/dockerfile/instructions.ts'
import { readInside } from '../../../../source/read-inside.ts'
import { type Artifact, BuildFailed, type BuildRequest, type OutputLine } from '../../runtime.ts'
import { ask, type Engine, eventsOf, wordsOfEngine } from '../engine.ts'
import { asBuildFailure, contentOf, ensureImage } from '../images.ts'
import { limitsOf, wayGiving } from '../run/container-settings.ts'
import { buildProcesses, killedSettleMs, lookMs, processesIn } from './build-container.ts'
import type { BuildParts } from './build-parts.ts'
import { type BuildEvent, followBuild } from './build-progress.ts'
import { withBasesHere } from './dockerfile-bases.ts'
import { type AddedFile, type GuardedDockerfile, guardedDockerfile, refuseTrigger } from './guarded-dockerfile.ts'
import { listSource, packSource, readFor } from './source-tar.ts'
import { DockerfileRefused, dockerfileAtMost } from './strict-dockerfile.ts'

const tailLines = 30
const period = 100_000

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
  const { text, added, hasHeredocs } = await judged(written, request, parts, say, abort)
  const reference = `berth-${parts.labels.instance}/${owner.projectId}:${[owner.deploymentId, service].filter(Boolean).join('.')}`
  const usesBuildKit = hasHeredocs || needsBuildKit(text)
  const note = usesBuildKit ? 'Building with BuildKit: time is limited, memory and cores are not' : 'Building the Dockerfile'
  say(note)
  const builder = new DockerfileBuild(request, onLine, abort, parts)
  const ignore = plan.dockerfileText === undefined ? await readIgnore(context, file, root) : ''
  const fetched = await fetchAdded(added, request, parts, say, abort)
  try {
    const tar = await packContext(context, ignore, text, fetched.files, request, abort)
    const build = (network: object) =>
      builder.run(tar, {
        t: reference,
        dockerfile: tar.dockerfile,
        labels: parts.labels.ofOwner('artifact', owner, service),
        buildargs: plan.buildArguments,
        ...(plan.dockerTarget ? { target: plan.dockerTarget } : {}),
        ...(usesBuildKit ? { version: '2' as const } : {}),
        ...network,
      })
    // BuildKit knows the engine's own bridge alone.
    if (usesBuildKit) await build({})
    else await parts.networks.forBuild((networkmode) => build({ networkmode }))
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
): Promise<GuardedDockerfile> {
  const findImage = async (image: string) => {
    const name = await ensureImage(image, parts, projectId, say, abort)
    const { Config } = await ask(() => parts.engine.getImage(name).inspect(), { abort })
    for (const trigger of (Config as { OnBuild?: string[] | null })?.OnBuild ?? []) refuseTrigger(trigger)
    return name
  }
  try {
    const { Version } = await ask(() => parts.engine.version(), { abort })
    const knowsHeredocs = Number.parseInt(Version, 10) >= 23
    // What a preview leaves in a cache, a fork's perhaps, must not be what production's next build reads.
    const caches = environment === 'production' ? projectId : `${projectId}@${environment}`
    const guarded = await guardedDockerfile(written, { caches, buildArguments, knowsHeredocs, findImage })
    return { ...guarded, text: await withBasesHere(guarded.text, buildArguments, findImage) }
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

/** Only BuildKit knows these; only the other builder can be held to limits. */
export function needsBuildKit(dockerfile: string): boolean {
  for (const { keyword, rest, hasHereDocuments } of instructionsOf(dockerfile)) {
    if (hasHereDocuments) return true
    if (['RUN', 'COPY', 'ADD'].includes(keyword) && wordsOf(rest).options.some((option) => ofBuildKit.test(option))) return true
  }
  return false
}

class DockerfileBuild {
  readonly #request: BuildRequest
  readonly #onLine: (line: OutputLine) => void
  readonly #abort: AbortSignal
  readonly #engine: Engine
  readonly #tail: string[] = []
  readonly #end = new AbortController()
  /** By the first letters of their ids, which is what the builder tells; the last one runs. */
  readonly #containers = new Set<string>()
  #failure: BuildFailed | undefined

  constructor(request: BuildRequest, onLine: (line: OutputLine) => void, abort: AbortSignal, { engine }: BuildParts) {
    this.#request = request
    this.#onLine = onLine
    this.#abort = abort
    this.#engine = engine
  }

  async run(tar: NodeJS.ReadableStream, options: { version?: '2' } & Record<string, unknown>): Promise<void> {
    const { timeoutMs, allotment } = this.#request
    const minutes = Math.max(1, Math.round(timeoutMs / 60_000))
    const clock = setTimeout(() => this.#stopFor('timed_out', `The build took longer than ${minutes} min`), timeoutMs)
    const { Memory, MemorySwap, NanoCpus } = limitsOf(allotment, buildProcesses)
    const cpuquota = Math.round((NanoCpus / 1e9) * period)
    const { CpuShares: cpushares, CpusetCpus: cpusetcpus } = wayGiving(this.#engine)
    const limits = {
      memory: Memory,
      memswap: MemorySwap,
      cpuperiod: period,
      cpuquota,
      cpushares,
      ...(cpusetcpus ? { cpusetcpus } : {}),
    }
    void this.#watchMemory()
    const looking = setInterval(() => void this.#lookAtProcesses(), lookMs)
    try {
      const abortSignal = AbortSignal.any([this.#abort, this.#end.signal])
      const stream = await this.#engine.buildImage(tar, { ...limits, rm: true, forcerm: true, ...options, abortSignal } as object)
      // A closed connection ends the build on the other side as well.
      abortSignal.addEventListener('abort', () => (stream as unknown as { destroy(): void }).destroy(), { once: true })
      await followBuild(stream as unknown as AsyncIterable<Uint8Array>, (event) => this.#say(event))
      abortSignal.throwIfAborted()
    } catch (error) {
      this.#abort.throwIfAborted()
      const words = wordsOfEngine(error)
      if (/non-zero code: 137\b/.test(words))
        await pause(killedSettleMs, undefined, { signal: this.#end.signal }).catch(() => undefined)
      throw this.#failure ?? new BuildFailed('command_failed', words, [...this.#tail])
    } finally {
      clearTimeout(clock)
      clearInterval(looking)
      this.#end.abort()
    }
  }

  #say({ stream, text }: BuildEvent): void {
    for (const line of text.split('\n')) {
      const message = line.trimEnd()
      if (message === '') continue
      const running = /^ ---> Running in ([0-9a-f]{12})/.exec(message)?.[1]
      if (running) void this.#limit(running)
      this.#tail.push(message)
      if (this.#tail.length > tailLines) this.#tail.shift()
      this.#onLine({ time: new Date().toISOString(), stream, message })
    }
  }

  /** The builder takes limits of memory and cores; the one on processes is set on each of its containers as it starts. */
  async #limit(container: string): Promise<void> {
    this.#containers.add(container)
    await this.#engine
      .getContainer(container)
      .update({ PidsLimit: buildProcesses })
      .catch(() => undefined)
  }

  async #lookAtProcesses(): Promise<void> {
    const running = [...this.#containers].at(-1)
    if (!running || (await processesIn(this.#engine.getContainer(running))) < buildProcesses) return
    this.#stopFor('too_many_processes', `The build started more than ${buildProcesses} processes`)
  }

  async #watchMemory(): Promise<void> {
    try {
      const filters = { type: ['container'], event: ['oom'] }
      for await (const { id = '' } of eventsOf(filters, this.#engine, { abort: this.#end.signal })) {
        const { memoryMb } = this.#request.allotment
        if (this.#containers.has(id.slice(0, 12)))
          this.#stopFor('out_of_memory', `The build used more than the ${memoryMb} MB that a build may use`)
      }
    } catch {
      // The build has ended.
    }
  }

  #stopFor(code: BuildFailed['code'], message: string): void {
    if (this.#failure || this.#end.signal.aborted) return
    this.#failure = new BuildFailed(code, message, [...this.#tail])
    this.#end.abort()
  }
}
