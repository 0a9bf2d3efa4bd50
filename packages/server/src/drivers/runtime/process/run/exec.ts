import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { CommandFailed } from '../../../shell/command-errors.ts'
import type { ExecCommand } from '../../runtime.ts'
import { type BuildParts, searchPath } from '../build/build.ts'
import { readArtifactRecord } from '../files/artifact.ts'
import type { Paths } from '../files/paths.ts'
import { foldersOfGroup } from '../processes/cgroup.ts'
import type { InstanceRecord } from '../processes/instance-record.ts'
import { killAllWithGroupId } from '../processes/process-table.ts'
import { runLaunched } from '../processes/run-launched.ts'
import type { MountedFolder } from '../sandbox/bubblewrap.ts'
import type { Launched } from '../sandbox/sandbox.ts'

const maxExecMs = 6 * 60 * 60_000

type Result = { exitCode: number; stderrTail: string }

/** Commands that run beside an instance: same user and files, within its limits, and ended with it. */
export class ExecCommands {
  readonly #parts: BuildParts
  readonly #running = new Map<string, Set<{ stop: AbortController; ended: Promise<unknown> }>>()

  constructor(parts: BuildParts) {
    this.#parts = parts
  }

  async run(record: InstanceRecord, command: ExecCommand, abort: AbortSignal): Promise<Result> {
    const stop = new AbortController()
    const ended = this.#run(record, command, AbortSignal.any([abort, stop.signal]))
    const running = { stop, ended: ended.catch(() => undefined) }
    const commands = this.#running.get(record.instanceId) ?? new Set()
    this.#running.set(record.instanceId, commands.add(running))
    try {
      return await ended
    } finally {
      commands.delete(running)
      if (commands.size === 0) this.#running.delete(record.instanceId)
    }
  }

  /** Ends all commands that run beside the instance. */
  async end(instanceId: string): Promise<void> {
    const commands = [...(this.#running.get(instanceId) ?? [])]
    for (const { stop } of commands) stop.abort(new Error('the instance was stopped'))
    await Promise.all(commands.map(({ ended }) => ended))
  }

  async #run(record: InstanceRecord, command: ExecCommand, abort: AbortSignal): Promise<Result> {
    const { paths, sandbox } = this.#parts
    // Its own group id, so that it can be ended without the instance.
    const task = `exec-${randomUUID()}`
    try {
      return await runToEnd(await this.#launch(record, command, task), command, abort)
    } finally {
      if (sandbox.hasOwnUsers && !sandbox.hasPidNamespace) await killAllWithGroupId(paths.groupIdOf(task))
    }
  }

  async #launch({ instanceId, owner, service, shown = [] }: InstanceRecord, command: ExecCommand, task: string) {
    const { paths, sandbox, baseEnv } = this.#parts
    const artifact = shown[0] ? dirname(shown[0].path) : paths.artifact(owner.deploymentId, service)
    const home = shown[1]?.at ?? sandbox.pathInside(paths.home(owner, artifact))
    const artifactRecord = await readArtifactRecord(artifact)
    const cwd = shown[0] ? join(shown[0].at, artifactRecord?.rootDirectory ?? '') : home
    const volumes = shown.flatMap(({ variable, at }) => (variable ? [[variable, at]] : []))
    return sandbox.launch({
      argv: command.argv,
      cwd,
      env: {
        ...baseEnv,
        PATH: searchPath(cwd, sandbox, baseEnv, toolsIn(shown, paths)),
        HOME: home,
        PWD: cwd,
        NODE_ENV: 'production',
        ...Object.fromEntries(volumes),
        ...command.env,
      },
      user: paths.processUserOf(owner.projectId, task, artifact),
      groupFolders: foldersOfGroup(instanceId),
      processFile: null,
      shown,
      stopsWithControlPlane: true,
    })
  }
}

/** Folders of the toolbox programs that an instance can see. */
const toolsIn = (shown: readonly MountedFolder[], paths: Paths) =>
  shown.flatMap(({ path, at }) => (dirname(path) === paths.of('tools') ? [`${at}/bin`] : []))

async function runToEnd(launched: Launched, { stdin, onStdout, onStderr }: ExecCommand, abort: AbortSignal): Promise<Result> {
  try {
    const { exitCode, stderr } = await runLaunched(launched, {
      abort,
      timeoutMs: maxExecMs,
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
