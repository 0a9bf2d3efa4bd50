import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { CommandFailed } from '../../../shell/command-errors.ts'
import type { ExecCommand } from '../../runtime.ts'
import { type BuildParts, searchPath } from '../build/build.ts'
import { readArtifactNote } from '../files/artifact.ts'
import type { Paths } from '../files/paths.ts'
import { foldersOfGroup } from '../processes/cgroup.ts'
import type { InstanceRecord } from '../processes/instance-record.ts'
import { endAllWithGroup } from '../processes/process-table.ts'
import { runLaunched } from '../processes/run-launched.ts'
import type { Shown } from '../sandbox/bubblewrap.ts'
import type { Launched } from '../sandbox/sandbox.ts'

const maxMs = 6 * 60 * 60_000

type Result = { exitCode: number; stderrTail: string }

/** Commands that run beside an instance: same user and files, within its limits, and ended with it. */
export class ProgramsBeside {
  readonly #parts: BuildParts
  readonly #running = new Map<string, Set<{ stop: AbortController; ended: Promise<unknown> }>>()

  constructor(parts: BuildParts) {
    this.#parts = parts
  }

  async run(record: InstanceRecord, command: ExecCommand, abort: AbortSignal): Promise<Result> {
    const stop = new AbortController()
    const ended = this.#run(record, command, AbortSignal.any([abort, stop.signal]))
    const one = { stop, ended: ended.catch(() => undefined) }
    const beside = this.#running.get(record.instanceId) ?? new Set()
    this.#running.set(record.instanceId, beside.add(one))
    try {
      return await ended
    } finally {
      beside.delete(one)
      if (beside.size === 0) this.#running.delete(record.instanceId)
    }
  }

  /** Ends all commands that run beside the instance. */
  async end(instanceId: string): Promise<void> {
    const beside = [...(this.#running.get(instanceId) ?? [])]
    for (const { stop } of beside) stop.abort(new Error('the instance was stopped'))
    await Promise.all(beside.map(({ ended }) => ended))
  }

  async #run(record: InstanceRecord, command: ExecCommand, abort: AbortSignal): Promise<Result> {
    const { paths: places, sandbox } = this.#parts
    // Its own group id, so that it can be ended without the instance.
    const task = `exec-${randomUUID()}`
    try {
      return await outcomeOf(await this.#launch(record, command, task), command, abort)
    } finally {
      if (sandbox.hasOwnUsers && !sandbox.hasOwnProcesses) await endAllWithGroup(places.mark(task))
    }
  }

  async #launch({ instanceId, owner, service, shown = [] }: InstanceRecord, command: ExecCommand, task: string) {
    const { paths: places, sandbox, baseEnv } = this.#parts
    const artifact = shown[0] ? dirname(shown[0].path) : places.artifact(owner.deploymentId, service)
    const home = shown[1]?.at ?? sandbox.seen(places.home(owner, artifact))
    const note = await readArtifactNote(artifact)
    const cwd = shown[0] ? join(shown[0].at, note?.rootDirectory ?? '') : home
    const volumes = shown.flatMap(({ variable, at }) => (variable ? [[variable, at]] : []))
    return sandbox.launch({
      argv: command.argv,
      cwd,
      env: {
        ...baseEnv,
        PATH: searchPath(cwd, sandbox, baseEnv, toolsIn(shown, places)),
        HOME: home,
        NODE_ENV: 'production',
        ...Object.fromEntries(volumes),
        ...command.env,
      },
      who: places.who(owner.projectId, task, artifact),
      groupFolders: foldersOfGroup(instanceId),
      note: null,
      shown,
      stopsWithControlPlane: true,
    })
  }
}

/** Folders of the toolbox programs that an instance can see. */
const toolsIn = (shown: readonly Shown[], paths: Paths) =>
  shown.flatMap(({ path, at }) => (dirname(path) === paths.of('tools') ? [`${at}/bin`] : []))

async function outcomeOf(launched: Launched, { stdin, onStdout, onStderr }: ExecCommand, abort: AbortSignal): Promise<Result> {
  try {
    const { exitCode, stderr } = await runLaunched(launched, {
      abort,
      timeoutMs: maxMs,
      maxOutputBytes: 64 * 1024,
      ...(stdin ? { input: stdin } : {}),
      ...(onStdout ? { onStdout } : {}),
      ...(onStderr ? { onStderr } : {}),
    })
    return { exitCode: exitCode ?? 0, stderrTail: stderr }
  } catch (error) {
    if (error instanceof CommandFailed) return { exitCode: error.exitCode ?? 1, stderrTail: error.message }
    throw error
  }
}
