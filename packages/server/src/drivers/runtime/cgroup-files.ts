import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const cgroupRoot = '/sys/fs/cgroup'
/** Period of the kernel's CPU quota, in microseconds. */
export const cgroupPeriod = 100_000

/** Tells cgroup v2 (a single hierarchy) from v1 (a hierarchy per controller). */
export const isUnified = (): boolean => existsSync(join(cgroupRoot, 'cgroup.controllers'))

/** Reads a file of a control group. Null if the file or the group does not exist. */
export function readGroupFile(folder: string, file: string): string | null {
  try {
    return readFileSync(join(folder, file), 'utf8')
  } catch {
    return null
  }
}

/** Reads one field of a file that has a line per field, such as `memory.stat`. */
export function parseField(text: string | null, field: string): number | null {
  const found = text?.match(new RegExp(`^${field} (\\d+)$`, 'm'))?.[1]
  return found === undefined ? null : Number(found)
}

/** Writes a file of a control group if it exists. Some kernels lack some files, and a removed group has none. */
export function writeIfExists(folder: string, file: string, value: string | number): void {
  try {
    if (existsSync(join(folder, file))) writeFileSync(join(folder, file), String(value))
  } catch {
    // A kernel without swap accounting, for example, refuses the write.
  }
}

export const pidsOf = (folder: string): number[] =>
  (readGroupFile(folder, 'cgroup.procs') ?? '').split('\n').filter(Boolean).map(Number)

/** Kills every process of a group. Repeats for processes that fork meanwhile: the group limits their number, so this ends. */
export function killMembers(folder: string): void {
  for (let round = 0; round < 50; round++) {
    const pids = pidsOf(folder)
    if (pids.length === 0) return
    for (const pid of pids)
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // The process has already ended.
      }
  }
}
