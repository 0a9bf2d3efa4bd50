import { readFileSync } from 'node:fs'

/** Process ids of a supervised instance; absent while a process is being started again. */
export interface InstanceProcesses {
  worker?: number
  api?: number
}

/** The worker and the API process that the supervisor has started. Linux only. */
export function instanceProcesses(supervisor: number): InstanceProcesses {
  const found: InstanceProcesses = {}
  for (const pid of read(`/proc/${supervisor}/task/${supervisor}/children`).split(' ').filter(Boolean).map(Number)) {
    const environ = read(`/proc/${pid}/environ`).split('\0')
    if (environ.includes('BERTH_ROLE=worker')) found.worker = pid
    if (environ.includes('BERTH_ROLE=api')) found.api = pid
  }
  return found
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
