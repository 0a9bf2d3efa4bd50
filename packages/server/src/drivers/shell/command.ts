/** A command is words, not a string: nothing in it is ever read by a shell. */
export interface Command {
  program: string
  args: string[]
  /** Beside the few variables that every command inherits; these win. */
  env?: Record<string, string>
  cwd?: string
}

/** A promise is waited for before more is read, so a slow receiver slows the command down instead of filling memory. */
export type OutputReceiver = (chunk: Uint8Array) => void | Promise<void>

export interface RunOptions {
  abort?: AbortSignal
  timeoutMs: number
  /** What is kept of each stream: the first bytes of stdout, the last ones of stderr. The rest is read and dropped. */
  maxOutputBytes: number
  onStdout?: OutputReceiver
  onStderr?: OutputReceiver
  /** Without it, stdin is empty. */
  input?: string | Uint8Array | AsyncIterable<Uint8Array>
  /** Can be read once from file descriptor 3, by the command or by what it starts; it is in no argv, variable or file. */
  secretInput?: string
  /** Other exit codes reject with `CommandFailed`. Left out: 0. */
  acceptExitCodes?: readonly number[] | 'any'
  /** Between TERM and KILL when the command must end. */
  graceMs?: number
}

export interface CommandResult {
  /** Null when a signal ended the command. */
  exitCode: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
  /** True when `stdout` or `stderr` is not the whole of it. */
  truncated: boolean
}

/**
 * Runs a command in a process group of its own. When it settles, the command is over, also what it has started and left in its group.
 * Rejects with one of `command-errors.ts`, or with what a receiver or the input threw.
 */
export type RunCommand = (command: Command, options: RunOptions) => Promise<CommandResult>
