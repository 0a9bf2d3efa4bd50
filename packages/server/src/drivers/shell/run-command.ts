import { type ChildProcess, spawn } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { errorMessage } from '../../platform/error-message.ts'
import { BoundedOutput } from './bounded-output.ts'
import type { Command, CommandResult, RunCommand, RunOptions } from './command.ts'
import { CommandAborted, CommandFailed, CommandNotStarted, CommandTimedOut, ProgramMissing } from './command-errors.ts'
import { collectOutput, feedInput, feedSecret, OutputActivity } from './command-streams.ts'
import { inheritedEnvironment } from './inherited-environment.ts'
import { afterKillMs, ProcessGroup } from './process-group.ts'

/** `environment` is the control plane's own; commands get only the variables of it that `inherited-environment.ts` names. */
export function createRunCommand(environment: Readonly<Record<string, string | undefined>>): RunCommand {
  const inherited = inheritedEnvironment(environment)
  return async (command, options) => {
    if (options.abort?.aborted) throw new CommandAborted(command.program, options.abort)
    const child = await start(command, inherited, options)
    return new RunningCommand(command, options, child).outcome()
  }
}

const defaultGraceMs = 5_000
/** Longest delay of a Node timer; a longer one would fire at once. */
const maxTimerMs = 2 ** 31 - 1
const maxMessageBytes = 8_192

async function start(command: Command, inherited: Record<string, string>, options: RunOptions): Promise<ChildProcess> {
  try {
    const child = spawn(command.program, command.args, {
      cwd: command.cwd,
      env: { ...inherited, ...command.env },
      detached: true,
      shell: false,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', ...secretPipe(options)],
    })
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    return child
  } catch (error) {
    throw await startFailure(command, error)
  }
}

const secretPipe = (options: RunOptions): 'pipe'[] => (options.secretInput === undefined ? [] : ['pipe'])

async function startFailure({ program, cwd }: Command, error: unknown): Promise<Error> {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (cwd !== undefined && (code === 'ENOENT' || code === 'ENOTDIR')) {
    const folder = await stat(cwd).catch(() => null)
    if (!folder?.isDirectory()) return new CommandNotStarted(program, `the working folder ${cwd} does not exist`, error)
  }
  if (code === 'ENOENT') return new ProgramMissing(program)
  return new CommandNotStarted(program, errorMessage(error), error)
}

interface Exit {
  exitCode: number | null
  signal: NodeJS.Signals | null
}

/** A command from its start to its end. */
class RunningCommand {
  readonly #command: Command
  readonly #options: RunOptions
  readonly #child: ChildProcess
  readonly #group: ProcessGroup
  readonly #graceMs: number
  readonly #stdout: BoundedOutput
  readonly #stdoutEnd = new BoundedOutput('last', maxMessageBytes)
  readonly #stderr: BoundedOutput
  readonly #exit = Promise.withResolvers<Exit>()
  readonly #stopped = Promise.withResolvers<void>()
  readonly #waitedLongEnough = Promise.withResolvers<void>()
  readonly #activity = new OutputActivity()
  #endReason: 'aborted' | 'timed out' | 'failed' | undefined
  #failure: unknown

  constructor(command: Command, options: RunOptions, child: ChildProcess) {
    this.#command = command
    this.#options = options
    this.#child = child
    this.#graceMs = options.graceMs ?? defaultGraceMs
    this.#group = new ProcessGroup(child.pid!, this.#graceMs)
    this.#stdout = new BoundedOutput('first', options.maxOutputBytes)
    this.#stderr = new BoundedOutput('last', options.maxOutputBytes)
    child.once('exit', (exitCode, signal) => this.#exit.resolve({ exitCode, signal }))
  }

  async outcome(): Promise<CommandResult> {
    const { abort, timeoutMs } = this.#options
    const onAbort = () => this.#end('aborted')
    const timer = setTimeout(() => this.#end('timed out'), Math.min(timeoutMs, maxTimerMs))
    abort?.addEventListener('abort', onAbort, { once: true })
    if (abort?.aborted) onAbort()
    try {
      const streams = this.#runStreams()
      const exit = await this.#exit.promise
      await this.#group.waitForEnd()
      await Promise.race([streams, this.#activity.idle(), this.#stopped.promise])
      this.#closeStreams()
      await Promise.race([streams, this.#waitedLongEnough.promise])
      return this.#resultOf(exit)
    } finally {
      clearTimeout(timer)
      abort?.removeEventListener('abort', onAbort)
    }
  }

  #resultOf(exit: Exit): CommandResult {
    const { program } = this.#command
    const { abort, timeoutMs, acceptExitCodes = [0] } = this.#options
    const stdout = this.#stdout.text()
    const stderr = this.#stderr.text()
    if (this.#endReason === 'aborted') throw new CommandAborted(program, abort!)
    if (this.#endReason === 'timed out') throw new CommandTimedOut(program, timeoutMs, stderr.trim() || this.#stdoutEnd.text())
    if (this.#endReason === 'failed') throw this.#failure
    const result = { ...exit, stdout, stderr, truncated: this.#stdout.truncated || this.#stderr.truncated }
    const accepted = acceptExitCodes === 'any' || (exit.exitCode !== null && acceptExitCodes.includes(exit.exitCode))
    if (!accepted) throw new CommandFailed(program, result, this.#stdoutEnd.text())
    return result
  }

  async #runStreams(): Promise<void> {
    const { stdin, stdout, stderr, stdio } = this.#child
    const { input, secretInput, onStdout, onStderr } = this.#options
    if (secretInput !== undefined) feedSecret(secretInput, stdio[3])
    const keepStdout = (chunk: Uint8Array) => {
      this.#stdout.add(chunk)
      this.#stdoutEnd.add(chunk)
    }
    const work = [
      collectOutput(stdout!, this.#activity, keepStdout, onStdout),
      collectOutput(stderr!, this.#activity, (chunk) => this.#stderr.add(chunk), onStderr),
      input === undefined ? undefined : feedInput(input, stdin!),
    ]
    await Promise.all(work.map((part) => part?.catch((error) => this.#fail(error))))
  }

  #fail(error: unknown): void {
    if (this.#endReason) return
    this.#failure = error
    this.#end('failed')
  }

  #end(why: 'aborted' | 'timed out' | 'failed'): void {
    if (this.#endReason) return
    this.#endReason = why
    this.#stopped.resolve()
    this.#group.end()
    // Limits the wait for a process that is stuck in the kernel, or for a receiver that never returns.
    const giveUp = () => {
      this.#exit.resolve({ exitCode: null, signal: 'SIGKILL' })
      this.#waitedLongEnough.resolve()
    }
    setTimeout(giveUp, this.#graceMs + afterKillMs).unref()
  }

  /** A process that has left the group may hold the pipes open for ever; the command has ended without it. */
  #closeStreams(): void {
    for (const stream of this.#child.stdio) stream?.destroy()
  }
}
