import { setTimeout as pause } from 'node:timers/promises'
import { hasMembers, isAlive, type ProcessIdentity, signalGroup, signalInside } from './process-table.ts'

interface Requested {
  /** The program runs in its own process namespace, and the process is bubblewrap's monitor outside of it. */
  isInside: boolean
  /** Processes of its control group. Undefined if it has none. */
  members: () => readonly number[] | undefined
  /** Wall clock time. */
  deadline: number
}

/** Sends SIGTERM. Resolves when all processes have ended, or at the deadline. */
export async function sendTerminate(identity: ProcessIdentity, { isInside, members, deadline }: Requested): Promise<void> {
  let isAsked = false
  for (; isAlive(identity); await pause(50)) {
    if (!isAsked && isInside) isAsked = signalInside(identity, 'SIGTERM', members())
    else if (!isAsked) {
      signalGroup(identity, 'SIGTERM')
      isAsked = true
    }
    if (Date.now() >= deadline) return
  }
  // The first process to end is often only a parent (npm, a shell). The others have the rest of the time.
  while (isAsked && Date.now() < deadline && hasMembers(identity, members())) await pause(50)
}
