import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { type EdgeRole, type EdgeSettings, edgeArguments, edgeFiles } from './edge-settings.ts'

/**
 * Starts an edge process. The first one and a successor are in a session of their own with nothing of ours open, so that
 * neither our death nor a signal to our group reaches them; a worker belongs to the edge that started it.
 */
export function spawnEdge(settings: EdgeSettings, role: EdgeRole): ChildProcess {
  const log = openSync(edgeFiles(settings.folder).log, 'a', 0o600)
  try {
    const child = spawn(settings.program, edgeArguments(settings, role), {
      detached: role !== 'worker',
      cwd: settings.folder,
      // Nothing of the control plane's environment: it holds secrets that a process facing the world has no use for.
      env: { NODE_ENV: 'production' },
      stdio: role === 'first' ? ['ignore', log, log] : ['ignore', log, log, 'ipc'],
    })
    child.unref()
    return child
  } finally {
    closeSync(log)
  }
}
