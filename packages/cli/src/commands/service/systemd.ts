import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { CliError } from '../../exit-codes.ts'

/** Whether systemd is the init system of this machine: a container may have its programs without a running systemd. */
export const isSystemdRunning = (): boolean => existsSync('/run/systemd/system')

/** Runs a program of systemd with this terminal as its output. Returns its exit code. */
export function runAttached(program: 'systemctl' | 'journalctl', args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
    child.once('error', (error) => reject(new CliError(`${program} cannot be run: ${error.message}`)))
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

export async function systemctl(isSystem: boolean, ...args: string[]): Promise<void> {
  const code = await runAttached('systemctl', isSystem ? args : ['--user', ...args])
  if (code !== 0) throw new CliError(`systemctl ${args.join(' ')} failed with exit code ${code}`)
}
