import { CommandFailed } from '../../shell/command-errors.ts'
import type { ExecCommand } from '../runtime.ts'
import { runLaunched } from './run-launched.ts'
import type { Launched } from './sandbox/sandbox.ts'

const longestMs = 6 * 60 * 60_000

/** Runs a program beside an instance: the same user, the same files. */
export async function execBeside(
  launched: Launched,
  { stdin, onStdout }: ExecCommand,
  abort: AbortSignal,
): Promise<{ exitCode: number; stderrTail: string }> {
  try {
    const { exitCode, stderr } = await runLaunched(launched, {
      abort,
      timeoutMs: longestMs,
      maxOutputBytes: 64 * 1024,
      ...(stdin ? { input: stdin } : {}),
      ...(onStdout ? { onStdout } : {}),
    })
    return { exitCode: exitCode ?? 0, stderrTail: stderr }
  } catch (error) {
    if (error instanceof CommandFailed) return { exitCode: error.exitCode ?? 1, stderrTail: error.message }
    throw error
  }
}
