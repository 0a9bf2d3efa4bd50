/** A command is a list of arguments, not a string: no shell ever parses it. */
export interface Command {
  program: string
  args: string[]
  /** Variables in addition to the few that every command inherits; these take precedence. */
  env?: Record<string, string>
  cwd?: string
}

/** A returned promise is awaited before more is read, so a slow receiver slows the command down instead of filling memory. */
export type OutputReceiver = (chunk: Uint8Array) => void | Promise<void>

export interface RunOptions {
  abort?: AbortSignal
  timeoutMs: number
  /** Bytes kept of each stream: the first of stdout, the last of stderr. The rest is read and dropped. */
  maxOutputBytes: number
  onStdout?: OutputReceiver
  onStderr?: OutputReceiver
  /** Absent: stdin is empty. */
  input?: string | Uint8Array | AsyncIterable<Uint8Array>
  /**
   * Secret that the command or its child processes can read once from file descriptor 3; it is in no argument, variable or
   * file.
   */
  secretInput?: string
  /** Other exit codes reject with `CommandFailed`. Default: 0. */
  acceptExitCodes?: readonly number[] | 'any'
  /** Time between SIGTERM and SIGKILL when the command must end. */
  graceMs?: number
}

export interface CommandResult {
  /** Null when a signal ended the command. */
  exitCode: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
  /** True when `stdout` or `stderr` is incomplete. */
  truncated: boolean
}

/**
 * Runs a command in its own process group. When it settles, the command and all processes left in its group have ended. Rejects
 * with an error of `command-errors.ts`, or with an error of a receiver or the input.
 */
export type RunCommand = (command: Command, options: RunOptions) => Promise<CommandResult>
