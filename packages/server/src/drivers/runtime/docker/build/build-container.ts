import { setTimeout as pause } from 'node:timers/promises'
import type { Container } from 'dockerode'
import { failureHint } from '../../failure-hint.ts'
import { commandFailedMessage } from '../../outdated-lockfile.ts'
import { lineSplitter } from '../../process/build/build.ts'
import { argvOfCommand } from '../../process/build/command-words.ts'
import type { OutputLine, ResourceLimits } from '../../runtime.ts'
import { BuildFailed } from '../../runtime-errors.ts'
import { callEngine, callEngineOrMissing, type Engine, engineMessage, eventsOf, isRemote, statusOf } from '../engine.ts'
import type { LabelMap } from '../labels.ts'
import { buildCpuSettings, limitsOf, securitySettings } from '../run/container-settings.ts'
import { runInContainer } from '../run/run-in.ts'
import { BuildDisk, diskFullText } from './build-disk.ts'
import { setCpuIdle } from './idle-group.ts'

export const maxBuildProcesses = 512
const tailLines = 30
/** Interval of the checks of the number of processes. */
export const pollIntervalMs = 150
const oomEventWaitMs = 300
/** Wait for the engine's out-of-memory event after a SIGKILL. Most kills are for memory. */
export const oomEventWaitAfterKillMs = 5_000
const killedExitCode = 137
const extraLifetimeSeconds = 60

export interface BuildContainerSettings {
  name: string
  image: string
  labels: LabelMap
  network: string
  resources: ResourceLimits
  deadline: number
  timeoutMs: number
}

/**
 * A container in which the commands of a build run one after the other, under common limits. The whole container is killed
 * at a limit (time, memory, processes, disk) or on abort.
 */
export class BuildContainer {
  readonly container: Container
  readonly tail: string[] = []
  readonly #engine: Engine
  readonly #settings: BuildContainerSettings
  readonly #onLine: (line: OutputLine) => void
  readonly #endController = new AbortController()
  readonly #abort: AbortSignal
  /** Set when a limit has ended the build. */
  #limitFailure: BuildFailed | undefined
  #failureHint: string | null = null
  /** Subject of the error message when a limit is reached: the running command. */
  #currentCommand = 'The build'
  readonly #disk: BuildDisk
  #checkTimer: NodeJS.Timeout | undefined
  #timeoutTimer: NodeJS.Timeout | undefined

  static async start(
    settings: BuildContainerSettings,
    engine: Engine,
    onLine: (line: OutputLine) => void,
    abort: AbortSignal,
  ): Promise<BuildContainer> {
    await removeByName(settings.name, engine)
    const seconds = Math.ceil(Math.max(1, settings.deadline - performance.now()) / 1000) + extraLifetimeSeconds
    const container = await callEngine(
      (abortSignal) =>
        engine.createContainer({
          name: settings.name,
          Image: settings.image,
          Labels: settings.labels,
          // Exits by itself if the control plane has died.
          Entrypoint: [],
          Cmd: ['/bin/sh', '-c', `exec sleep ${seconds}`],
          User: '0:0',
          WorkingDir: '/',
          Healthcheck: { Test: ['NONE'] },
          HostConfig: {
            ...limitsOf(settings.resources, maxBuildProcesses),
            ...securitySettings(false),
            ...buildCpuSettings(engine),
            NetworkMode: settings.network,
          },
          abortSignal,
        }),
      { abort },
    )
    await callEngine((abortSignal) => container.start({ abortSignal }), { abort })
    const { State } = await callEngine((abortSignal) => container.inspect({ abortSignal }), { abort })
    if (!isRemote(engine)) setCpuIdle(container.id, State.Pid)
    return new BuildContainer(container, { settings, engine, onLine, abort })
  }

  private constructor(
    container: Container,
    parts: { settings: BuildContainerSettings; engine: Engine; onLine: (line: OutputLine) => void; abort: AbortSignal },
  ) {
    this.container = container
    this.#settings = parts.settings
    this.#engine = parts.engine
    this.#onLine = parts.onLine
    this.#abort = AbortSignal.any([parts.abort, this.#endController.signal])
    const { diskMb } = parts.settings.resources
    const onExceeded = () => this.#stopFor('disk_full', diskFullText(this.#currentCommand, diskMb))
    this.#disk = new BuildDisk(diskMb, () => this.sizeBytes(), onExceeded)
    this.#checkTimer = setInterval(() => {
      void this.#checkLimits()
      void this.#disk.check()
    }, pollIntervalMs)
    const minutes = Math.max(1, Math.round(parts.settings.timeoutMs / 60_000))
    const remainingMs = Math.max(0, parts.settings.deadline - performance.now())
    this.#timeoutTimer = setTimeout(() => this.#stopFor('timed_out', `The build took longer than ${minutes} min`), remainingMs)
    void this.#watchMemory()
  }

  report(stream: OutputLine['stream'], message: string): void {
    this.tail.push(message)
    this.#failureHint ??= failureHint(message)
    if (this.tail.length > tailLines) this.tail.shift()
    this.#onLine({ time: new Date().toISOString(), stream, message })
  }

  async run(command: string, options: { env: Record<string, string>; user: string; folder: string }): Promise<void> {
    this.report('stdout', `$ ${command}`)
    this.#currentCommand = `\`${command}\``
    const splitters = {
      stdout: lineSplitter((line) => this.report('stdout', line)),
      stderr: lineSplitter((line) => this.report('stderr', line)),
    }
    const exitCode = await this.withLimits(() =>
      runInContainer(
        this.container.id,
        { argv: argvOfCommand(command), ...options },
        ({ stream, content }) => splitters[stream].write(content),
        this.#engine,
        this.#abort,
      ),
    )
    splitters.stdout.end()
    splitters.stderr.end()
    if (exitCode === 0) return
    // The engine reports an out-of-memory kill shortly after the program has ended.
    const waitMs = exitCode === killedExitCode ? oomEventWaitAfterKillMs : oomEventWaitMs
    await pause(waitMs, undefined, { signal: this.#abort }).catch(() => undefined)
    await this.#checkLimits()
    if (this.#limitFailure) throw this.#limitFailure
    if (exitCode === 126 || exitCode === 127)
      throw new BuildFailed('missing_tool', `\`${command}\` could not be run: ${this.tail.at(-1) ?? 'no such program'}`, [
        ...this.tail,
      ])
    throw new BuildFailed('command_failed', commandFailedMessage(command, exitCode, this.#failureHint), [...this.tail])
  }

  /** Runs work in the container. After a limit was reached, every error is reported as that limit. */
  async withLimits<T>(work: (abort: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await work(this.#abort)
    } catch (error) {
      if (this.#limitFailure) throw this.#limitFailure
      this.#abort.throwIfAborted()
      throw error
    }
  }

  async end(): Promise<void> {
    clearInterval(this.#checkTimer)
    clearTimeout(this.#timeoutTimer)
    this.#endController.abort()
    await removeByName(this.#settings.name, this.#engine)
  }

  /** Bytes that the build has written to its layer. */
  async sizeBytes(): Promise<number> {
    const found = await callEngine((abortSignal) => this.container.inspect({ size: true, abortSignal } as object), {
      abort: this.#abort,
    })
    return (found as { SizeRw?: number }).SizeRw ?? 0
  }

  #stopFor(code: BuildFailed['code'], message: string): void {
    if (this.#limitFailure || this.#endController.signal.aborted) return
    this.#limitFailure = new BuildFailed(code, message, [...this.tail])
    // Kills all processes at once. `end` removes the container.
    void this.container.kill().catch(() => undefined)
    this.#endController.abort()
  }

  async #checkLimits(): Promise<void> {
    if (this.#endController.signal.aborted) return
    if ((await countProcesses(this.container)) >= maxBuildProcesses)
      this.#stopFor('too_many_processes', `${this.#currentCommand} started more than ${maxBuildProcesses} processes`)
  }

  async #watchMemory(): Promise<void> {
    const filters = { container: [this.container.id], event: ['oom'] }
    try {
      for await (const _event of eventsOf(filters, this.#engine, { abort: this.#endController.signal })) {
        const { memoryMb } = this.#settings.resources
        this.#stopFor('out_of_memory', `${this.#currentCommand} exceeded the build memory limit of ${memoryMb} MB`)
      }
    } catch {
      // The build has ended, or the engine is unreachable, which every other call reports.
    }
  }
}

/** Number of processes in a container. 0 if the engine does not report it. */
export async function countProcesses(container: Container): Promise<number> {
  const options = { stream: false, 'one-shot': true } as const
  const stats = await callEngineOrMissing(() => container.stats(options), { timeoutMs: 5_000 }).catch(() => undefined)
  return stats?.pids_stats?.current ?? 0
}

export async function removeByName(name: string, engine: Engine): Promise<void> {
  for (let tries = 0; tries < 5; tries++)
    try {
      await callEngine((abortSignal) => engine.getContainer(name).remove({ force: true, v: true, abortSignal }))
      return
    } catch (error) {
      if (statusOf(error) === 404) return
      if (statusOf(error) !== 409) throw new Error(`The build container ${name} could not be removed: ${engineMessage(error)}`)
    }
}
