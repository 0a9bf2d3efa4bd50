import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment } from '../environment.ts'
import { CliError } from '../exit-codes.ts'

const maxOutputBytes = 16 * 1024 * 1024

/** Runs the npm of this machine, with its registry and its credentials. Returns standard output. */
export function runNpm(args: readonly string[], { cwd, maxMs }: { cwd: string; maxMs: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      npmProgram(),
      args,
      { cwd, env: npmEnvironment(), timeout: maxMs, killSignal: 'SIGKILL', maxBuffer: maxOutputBytes },
      (error, stdout, stderr) => {
        if (!error) resolve(stdout)
        else reject(new CliError(explain(error, stderr, args[0] ?? '', maxMs)))
      },
    )
  })
}

/** npm beside the Node that runs this; else the one on the PATH. */
function npmProgram(): string {
  const beside = join(dirname(process.execPath), 'npm')
  return existsSync(beside) ? beside : 'npm'
}

/**
 * npm gets no setting and no secret of Berth. A running npm, such as npx, sets further variables, but these concern only npm
 * itself.
 */
const npmEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment.all()).filter(([name]) => !name.startsWith('BERTH_')))

function explain(error: Error & { code?: unknown; killed?: boolean }, stderr: string, command: string, maxMs: number): string {
  if (error.code === 'ENOENT') return 'npm is not installed on this machine. Install it, or put it on the PATH.'
  if (error.killed) return `npm ${command} did not end within ${maxMs / 1000} s. Check the registry: npm ping`
  const lines = stderr.split('\n').filter((line) => /^npm (?:error|ERR!) (?!A complete log)/.test(line))
  const reason = lines.map((line) => line.replace(/^npm (?:error|ERR!) /, '').trim()).slice(0, 3)
  return `npm ${command} failed: ${reason.join('; ') || error.message}`
}
