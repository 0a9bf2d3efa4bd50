import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { type EdgeRole, type EdgeSettings, edgeArguments, edgeFiles } from './edge-settings.ts'

/**
 * Starts a program that puts itself into the background, such as nginx. Resolves with its exit code, null after a signal. A command
 * runner would end the processes that it leaves behind.
 */
export function spawnDaemon(
  program: string,
  args: string[],
  { folder, log, path }: { folder: string; log: string; path: string | undefined },
) {
  const output = openSync(log, 'a', 0o600)
  try {
    const child = spawn(program, args, {
      detached: true,
      cwd: folder,
      env: path === undefined ? {} : { PATH: path },
      stdio: ['ignore', output, output],
    })
    return new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve))
  } finally {
    closeSync(output)
  }
}

/**
 * Starts an edge process. The first edge and a successor run in their own session without inherited descriptors, so that they
 * survive the control plane and signals to its process group. A worker belongs to the edge that started it.
 */
export function spawnEdge(settings: EdgeSettings, role: EdgeRole): ChildProcess {
  const log = openSync(edgeFiles(settings.folder).log, 'a', 0o600)
  try {
    const child = spawn(settings.program, edgeArguments(settings, role), {
      detached: role !== 'worker',
      cwd: settings.folder,
      // The control plane's environment is not passed on: it contains secrets that the edge does not need.
      env: { NODE_ENV: 'production' },
      stdio: role === 'first' ? ['ignore', log, log] : ['ignore', log, log, 'ipc'],
    })
    child.unref()
    return child
  } finally {
    closeSync(log)
  }
}
