import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Hosting } from './hosting.ts'

const launcher = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'berth.js')

/**
 * Runs a command of the real CLI at a pseudo-terminal, which util-linux's `script` provides. Each answer is typed once its prompt is
 * on the screen. Returns the exit code and the whole output.
 */
export async function cliAtTerminal(
  { berth, home }: Pick<Hosting, 'berth' | 'home'>,
  args: readonly string[],
  { cwd, answers }: { cwd: string; answers: readonly { to: string; type: string }[] },
): Promise<{ code: number | null; screen: string }> {
  // `script` passes its command to a shell as one string; the path of a program file needs no quoting.
  const program = join(home, `at-terminal-${process.hrtime.bigint()}.mjs`)
  const argv = [process.execPath, launcher, ...args]
  // A new pseudo-terminal has no width: the output would wrap after each character.
  const size =
    "import { execFileSync } from 'node:child_process'\nexecFileSync('stty', ['cols', '160', 'rows', '40'], { stdio: 'inherit' })"
  const text = `#!${process.execPath}\n${size}\nprocess.argv = ${JSON.stringify(argv)}\nawait import(${JSON.stringify(pathToFileURL(launcher))})\n`
  await writeFile(program, text, { mode: 0o700 })
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', program, '/dev/null'], {
    cwd,
    env: { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config'), BERTH_URL: berth.url, TERM: 'xterm' },
  })
  const waiting = [...answers]
  let screen = ''
  const read = (chunk: Buffer) => {
    screen += chunk
    const [next] = waiting
    if (!next || !screen.includes(next.to)) return
    waiting.shift()
    child.stdin.write(next.type)
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  const late = setTimeout(() => child.kill('SIGKILL'), 120_000)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(late)
  return { code, screen }
}
