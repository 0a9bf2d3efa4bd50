import type { RunCommand } from '../../shell/command.ts'
import { CommandFailed } from '../../shell/command-errors.ts'
import type { ExecCommand } from '../runtime.ts'

const longestMs = 6 * 60 * 60_000

/** Runs a program beside an instance, as the same user. */
export async function execIn(
  words: string[],
  { env, stdin, onStdout }: ExecCommand,
  { cwd, baseEnv, run }: { cwd: string; baseEnv: Record<string, string>; run: RunCommand },
  abort: AbortSignal,
): Promise<{ exitCode: number; stderrTail: string }> {
  const [program, ...args] = words as [string, ...string[]]
  try {
    const { exitCode, stderr } = await run(
      { program, args, cwd, env: { ...baseEnv, HOME: cwd, ...env } },
      {
        abort,
        timeoutMs: longestMs,
        maxOutputBytes: 64 * 1024,
        ...(stdin ? { input: stdin } : {}),
        ...(onStdout ? { onStdout } : {}),
      },
    )
    return { exitCode: exitCode ?? 0, stderrTail: stderr }
  } catch (error) {
    if (error instanceof CommandFailed) return { exitCode: error.exitCode ?? 1, stderrTail: error.message }
    throw error
  }
}
