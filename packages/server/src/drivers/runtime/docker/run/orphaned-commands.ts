import { readdir } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Labels } from '../labels.ts'
import { environmentOf, markerVariable } from './marked-programs.ts'

const graceMs = 3_000

/** Prefix of the mark of a command: its Berth and the run of the control plane. */
export const markerPrefix = ({ instance, run }: Pick<Labels, 'instance' | 'run'>) => `${instance}.${run}.`

/**
 * Ends commands that an earlier control plane ran inside instances: the engine leaves them running, without a reader or time
 * limit. Works by pid on the engine's own machine, and finds none without permission to read other processes.
 */
export async function endOrphanedCommands(labels: Pick<Labels, 'instance' | 'run'>): Promise<void> {
  const orphaned = await findOrphanedCommands(labels)
  if (orphaned.length === 0) return
  send(orphaned, 'SIGTERM')
  await pause(graceMs)
  send(await findOrphanedCommands(labels), 'SIGKILL')
}

async function findOrphanedCommands({ instance, run }: Pick<Labels, 'instance' | 'run'>): Promise<number[]> {
  const [ofThisBerth, ofThisRun] = [`${markerVariable}=${instance}.`, `${markerVariable}=${markerPrefix({ instance, run })}`]
  const found: number[] = []
  for (const pid of (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    const variables = await environmentOf(pid).catch(() => [])
    if (variables.some((one) => one.startsWith(ofThisBerth) && !one.startsWith(ofThisRun))) found.push(Number(pid))
  }
  return found
}

function send(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended meanwhile.
    }
}
