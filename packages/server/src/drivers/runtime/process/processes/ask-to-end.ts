import { setTimeout as pause } from 'node:timers/promises'
import { hasMembers, isAlive, type ProcessIdentity, signalGroup, signalInside } from './process-table.ts'

interface Asked {
  /** It runs in a namespace of its own; the process is its keeper. */
  isInside: boolean
  /** Those of its control group, where it has one. */
  members: () => readonly number[] | undefined
  /** By the clock of the machine. */
  deadline: number
}

/** Resolves when it has ended, all of it, or its time is up. */
export async function askToEnd(identity: ProcessIdentity, { isInside, members, deadline }: Asked): Promise<void> {
  let isAsked = false
  for (; isAlive(identity); await pause(50)) {
    if (!isAsked && isInside) isAsked = signalInside(identity, 'SIGTERM', members())
    else if (!isAsked) {
      signalGroup(identity, 'SIGTERM')
      isAsked = true
    }
    if (Date.now() >= deadline) return
  }
  // The first to end is often only who started the program (npm, a shell): the others have the rest of the time.
  while (isAsked && Date.now() < deadline && hasMembers(identity, members())) await pause(50)
}
