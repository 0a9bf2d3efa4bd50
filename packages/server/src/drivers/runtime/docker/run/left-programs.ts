import { readdir } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Labels } from '../labels.ts'
import { markVariable, variablesOf } from './marked-programs.ts'

const graceMs = 3_000

/** What the mark of a program begins with: whose it is, and which control plane listens to it. */
export const markOf = ({ instance, run }: Pick<Labels, 'instance' | 'run'>) => `${instance}.${run}.`

/**
 * Ends the programs that a control plane which is gone has run inside instances: the engine lets them go on, and nobody hears them or
 * counts their time. On the engine's own machine, by number; whoever may not look at the processes of others finds none.
 */
export async function endLeftPrograms(labels: Pick<Labels, 'instance' | 'run'>): Promise<void> {
  const left = await leftPrograms(labels)
  if (left.length === 0) return
  send(left, 'SIGTERM')
  await pause(graceMs)
  send(await leftPrograms(labels), 'SIGKILL')
}

async function leftPrograms({ instance, run }: Pick<Labels, 'instance' | 'run'>): Promise<number[]> {
  const [ours, own] = [`${markVariable}=${instance}.`, `${markVariable}=${markOf({ instance, run })}`]
  const found: number[] = []
  for (const pid of (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    const variables = await variablesOf(pid).catch(() => [])
    if (variables.some((one) => one.startsWith(ours) && !one.startsWith(own))) found.push(Number(pid))
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
