import { readFileSync } from 'node:fs'

/** What the kernel counts processor time in, for programs: a hundredth of a second on every Linux. */
const ticksASecond = 100

/** What /proc/<pid>/stat says, from the state on (proc_pid_stat(5), field 3 is the first); null where there is no such process. */
export function processStat(pid: number | string): string[] | null {
  try {
    return fieldsOfStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return null
  }
}

/** The name before the state may hold spaces and brackets. */
export const fieldsOfStat = (line: string): string[] => line.slice(line.lastIndexOf(')') + 2).split(' ')

/** With its number, what tells a process from a later one of the same number. */
export const startTimeOf = (pid: number): string | null => processStat(pid)?.[19] ?? null

/** Its own time, in the program and in the kernel. */
export const processorSeconds = (stat: readonly string[]): number => secondsIn(stat, [11, 12])

/** With that of its children that have ended. */
export const processorSecondsWithChildren = (stat: readonly string[]): number => secondsIn(stat, [11, 12, 13, 14])

const secondsIn = (stat: readonly string[], fields: readonly number[]) =>
  fields.reduce((sum, field) => sum + Number(stat[field]), 0) / ticksASecond
