import { setTimeout as pause } from 'node:timers/promises'
import type { BuildRequest, OutputLine } from '../../runtime.ts'
import { BuildFailed } from '../../runtime-errors.ts'
import { type Engine, engineMessage, eventsOf } from '../engine.ts'
import { buildCpuSettings, limitsOf } from '../run/container-settings.ts'
import { countProcesses, maxBuildProcesses, oomEventWaitAfterKillMs, pollIntervalMs } from './build-container.ts'
import { BuildDisk, diskFullText } from './build-disk.ts'
import type { BuildParts } from './build-parts.ts'
import { type BuildEvent, readBuildOutput } from './build-progress.ts'
import { ClassicLayers } from './classic-layers.ts'

const tailLines = 30
const cpuPeriodMicroseconds = 100_000
/** A step that Berth added, not the project's Dockerfile. */
const berthStep = /^Step \d+\/\d+ : LABEL berth\./
const stepOrEnd = /^(Step \d|Successfully )/

/** A Dockerfile build by one of the engine's builders. Follows its output and ends it at its limits. */
export class DockerfileBuild {
  readonly #request: BuildRequest
  readonly #onLine: (line: OutputLine) => void
  readonly #abort: AbortSignal
  readonly #engine: Engine
  readonly #tail: string[] = []
  readonly #endController = new AbortController()
  /** Short ids of the build's containers, as the builder prints them. The last one runs. */
  readonly #containers = new Set<string>()
  readonly #layers: ClassicLayers
  readonly #disk: BuildDisk
  #failure: BuildFailed | undefined
  #isBerthStep = false
  /** Called with the 12-character id of each image that the classic builder creates or reuses. */
  onImage: (shortId: string) => void = () => undefined
  /** Bytes that the build has written so far. By default from the classic builder's output. */
  writtenBytes: () => Promise<number>

  constructor(request: BuildRequest, onLine: (line: OutputLine) => void, abort: AbortSignal, { engine }: BuildParts) {
    this.#request = request
    this.#onLine = onLine
    this.#abort = abort
    this.#engine = engine
    this.#layers = new ClassicLayers(engine)
    this.writtenBytes = () => this.#layers.writtenBytes()
    this.#disk = new BuildDisk(
      request.resources.diskMb,
      () => this.writtenBytes(),
      () => this.stopForLimit('disk_full'),
    )
  }

  /** Runs the build. `wasKilledForMemory` is called when a step was killed and no event gave the reason. */
  async run(tar: NodeJS.ReadableStream, options: Record<string, unknown>, wasKilledForMemory = () => false): Promise<void> {
    const { timeoutMs, resources } = this.#request
    const minutes = Math.max(1, Math.round(timeoutMs / 60_000))
    const timeoutTimer = setTimeout(() => this.#stopFor('timed_out', `The build took longer than ${minutes} min`), timeoutMs)
    const { Memory, MemorySwap, NanoCpus } = limitsOf(resources, maxBuildProcesses)
    const cpuquota = Math.round((NanoCpus / 1e9) * cpuPeriodMicroseconds)
    const { CpuShares: cpushares, CpusetCpus: cpusetcpus } = buildCpuSettings(this.#engine)
    const limits = {
      memory: Memory,
      memswap: MemorySwap,
      cpuperiod: cpuPeriodMicroseconds,
      cpuquota,
      cpushares,
      ...(cpusetcpus ? { cpusetcpus } : {}),
    }
    void this.#watchMemory()
    const checkTimer = setInterval(() => {
      void this.#checkProcesses()
      void this.#disk.check()
    }, pollIntervalMs)
    try {
      const abortSignal = AbortSignal.any([this.#abort, this.#endController.signal])
      const stream = await this.#engine.buildImage(tar, { ...limits, rm: true, forcerm: true, ...options, abortSignal } as object)
      // Closing the connection also ends the build in the engine.
      abortSignal.addEventListener('abort', () => (stream as unknown as { destroy(): void }).destroy(), { once: true })
      await readBuildOutput(stream as unknown as AsyncIterable<Uint8Array>, (event) => this.#report(event))
      abortSignal.throwIfAborted()
    } catch (error) {
      this.#abort.throwIfAborted()
      const message = engineMessage(error)
      if (/(non-zero|exit) code: 137\b/.test(message)) {
        await pause(oomEventWaitAfterKillMs, undefined, { signal: this.#endController.signal }).catch(() => undefined)
        if (wasKilledForMemory()) this.stopForLimit('out_of_memory')
      }
      throw this.#failure ?? new BuildFailed('command_failed', message, [...this.#tail])
    } finally {
      clearTimeout(timeoutTimer)
      clearInterval(checkTimer)
      this.#endController.abort()
    }
  }

  #report({ stream, text }: BuildEvent): void {
    for (const line of text.split('\n')) {
      const message = line.trimEnd()
      if (message === '') continue
      if (stepOrEnd.test(message)) this.#isBerthStep = berthStep.test(message)
      this.#layers.readLine(message)
      const image = /^ ---> ([0-9a-f]{12})$/.exec(message)?.[1]
      if (image) this.onImage(image)
      const running = /^ ---> Running in ([0-9a-f]{12})/.exec(message)?.[1]
      if (running) void this.#limitProcesses(running)
      if (this.#isBerthStep) continue
      this.#tail.push(message)
      if (this.#tail.length > tailLines) this.#tail.shift()
      this.#onLine({ time: new Date().toISOString(), stream, message })
    }
  }

  /** Sets the process limit on a container as it starts. The builder itself accepts only memory and CPU limits. */
  async #limitProcesses(container: string): Promise<void> {
    this.#containers.add(container)
    await this.#engine
      .getContainer(container)
      .update({ PidsLimit: maxBuildProcesses })
      .catch(() => undefined)
  }

  async #checkProcesses(): Promise<void> {
    const running = [...this.#containers].at(-1)
    if (!running || (await countProcesses(this.#engine.getContainer(running))) < maxBuildProcesses) return
    this.stopForLimit('too_many_processes')
  }

  /** Ends the build because it exceeded a limit. */
  stopForLimit(code: 'out_of_memory' | 'too_many_processes' | 'disk_full'): void {
    const { memoryMb, diskMb } = this.#request.resources
    const messages = {
      out_of_memory: `The build exceeded the build memory limit of ${memoryMb} MB`,
      too_many_processes: `The build started more than ${maxBuildProcesses} processes`,
      disk_full: diskFullText('The build', diskMb),
    }
    this.#stopFor(code, messages[code])
  }

  async #watchMemory(): Promise<void> {
    try {
      const filters = { type: ['container'], event: ['oom'] }
      for await (const { id = '' } of eventsOf(filters, this.#engine, { abort: this.#endController.signal })) {
        if (this.#containers.has(id.slice(0, 12))) this.stopForLimit('out_of_memory')
      }
    } catch {
      // The build has ended.
    }
  }

  #stopFor(code: BuildFailed['code'], message: string): void {
    if (this.#failure || this.#endController.signal.aborted) return
    this.#failure = new BuildFailed(code, message, [...this.#tail])
    this.#endController.abort()
  }
}
