import { spawn } from 'node:child_process'
import { environment, launcherVariable } from '../environment.ts'
import { errorText } from '../error-text.ts'

/** A version of Berth that can be run. */
export interface VersionProgram {
  version: string
  node: string
  launcher: string
}

/** Commands of `berth upgrade-step`, which an upgrade runs in the previous version and in the new one. They never change. */
export type StepCommand = 'describe' | 'rehearse' | 'backup' | 'copy' | 'migrate' | 'restore'

const maxMs = 6 * 3_600_000
const maxErrorBytes = 16_384

/** Runs one step as a program of that version, with the settings of this process. Returns its JSON output. */
export function runStep(
  { version, node, launcher }: VersionProgram,
  args: readonly [StepCommand, ...string[]],
  abort?: AbortSignal,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [launcher, 'upgrade-step', ...args, '--json'], {
      // The end of standard input tells the step that this process was killed.
      stdio: ['pipe', 'pipe', 'pipe'],
      // The version is chosen here, not by the pointer in the data folder.
      env: { ...environment.all(), [launcherVariable]: launcher },
      timeout: maxMs,
      killSignal: 'SIGKILL',
      ...(abort ? { signal: abort } : {}),
    })
    child.stdin.on('error', () => undefined)
    let [output, errors] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-maxErrorBytes)
    })
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) resolve(parse(output))
      else
        reject(
          new Error(problemIn(errors) ?? `berth ${version} upgrade-step ${args[0]} failed (${signal ?? `exit code ${code}`})`),
        )
    })
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    return { error: errorText(error) }
  }
}

/** The message that the program printed as JSON, else its last line. */
function problemIn(errors: string): string | undefined {
  const lines = errors.trim().split('\n').filter(Boolean)
  for (const line of lines.toReversed()) {
    const { error } = parse(line) as { error?: string }
    if (line.startsWith('{') && error) return error
  }
  return lines.at(-1)
}
