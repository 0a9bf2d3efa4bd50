import { readFileSync } from 'node:fs'

/** Clock ticks per second in which the kernel reports CPU time to programs: 100 on every Linux. */
const ticksPerSecond = 100

/** Fields of /proc/<pid>/stat from the state on (index 0 is field 3 of proc_pid_stat(5)); null if the process does not exist. */
export function processStat(pid: number | string): string[] | null {
  try {
    return fieldsOfStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return null
  }
}

/** Fields after the program name, which may contain spaces and brackets. */
export const fieldsOfStat = (line: string): string[] => line.slice(line.lastIndexOf(')') + 2).split(' ')

/** Start time of a process: together with the pid it identifies a process, even after the pid was reused. */
export const startTimeOf = (pid: number): string | null => processStat(pid)?.[19] ?? null

/** CPU time of the process, user and system. */
export const processorSeconds = (stat: readonly string[]): number => secondsIn(stat, [11, 12])

/** CPU time of the process and of its children that have exited. */
export const processorSecondsWithChildren = (stat: readonly string[]): number => secondsIn(stat, [11, 12, 13, 14])

const secondsIn = (stat: readonly string[], fields: readonly number[]) =>
  fields.reduce((sum, field) => sum + Number(stat[field]), 0) / ticksPerSecond
