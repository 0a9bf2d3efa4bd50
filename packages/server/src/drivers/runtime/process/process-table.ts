import { readFileSync } from 'node:fs'

/** A process for ever: its number may be given out again, its start time with it may not. */
export interface ProcessIdentity {
  pid: number
  /** Field 22 of /proc/<pid>/stat; null where there is no /proc. */
  startTime: string | null
}

export function identityOf(pid: number): ProcessIdentity {
  return { pid, startTime: startTimeOf(pid) }
}

/** What a process wrote of itself when it was launched: its line of /proc, or where there is none its number. */
export function readIdentity(note: string): ProcessIdentity | null {
  try {
    const line = readFileSync(note, 'utf8').trim()
    const pid = Number.parseInt(line, 10)
    return pid > 0 ? { pid, startTime: line.includes(')') ? (fieldsOf(line)[19] ?? null) : null } : null
  } catch {
    return null
  }
}

export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const state = statOf(pid)
  if (state === null) return startTime === null
  // A zombie has ended; only its parent has not looked yet.
  return state[0] !== 'Z' && (startTime === null || state[19] === startTime)
}

/** To the whole group: what a program started goes with it. */
export function signalGroup(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(identity)) return
  try {
    process.kill(-identity.pid, signal)
  } catch {
    // It ended between the look and the signal.
  }
}

const startTimeOf = (pid: number): string | null => statOf(pid)?.[19] ?? null

/** The fields from the state on: the name before it may hold spaces and brackets. */
function statOf(pid: number): string[] | null {
  try {
    return fieldsOf(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return null
  }
}

const fieldsOf = (stat: string) => stat.slice(stat.lastIndexOf(')') + 2).split(' ')
