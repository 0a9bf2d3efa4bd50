import { setTimeout as pause } from 'node:timers/promises'
import { hasProcesses, isAlive, type ProcessIdentity, signalGroup, signalInNamespace } from './process-table.ts'

interface TerminateOptions {
  /** The program runs in its own process namespace, and the process is bubblewrap's monitor outside of it. */
  hasPidNamespace: boolean
  /** Processes of its control group. Undefined if it has none. */
  members: () => readonly number[] | undefined
  /** Wall clock time. */
  deadline: number
}

/** Sends SIGTERM. Resolves when all processes have ended, or at the deadline. */
export async function sendTerminate(
  identity: ProcessIdentity,
  { hasPidNamespace, members, deadline }: TerminateOptions,
): Promise<void> {
  const send = (): boolean => {
    if (hasPidNamespace) return signalInNamespace(identity, 'SIGTERM', members())
    signalGroup(identity, 'SIGTERM')
    return true
  }
  let isSignaled = false
  while (isAlive(identity)) {
    // Retried while the namespace has no program yet.
    isSignaled ||= send()
    if (Date.now() >= deadline) return
    await pause(50)
  }
  // The first process to end is often only a parent (npm, a shell). The others have the rest of the time.
  while (isSignaled && Date.now() < deadline && hasProcesses(identity, members())) await pause(50)
}
