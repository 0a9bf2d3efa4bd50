import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const cgroupRoot = '/sys/fs/cgroup'
/** What limits of cores are counted in, in microseconds. */
export const cgroupPeriod = 100_000

/** One hierarchy (cgroup v2), or one for each controller (v1). */
export const isUnified = (): boolean => existsSync(join(cgroupRoot, 'cgroup.controllers'))

/** Null where there is no such file, or no such group any more. */
export function textIn(folder: string, file: string): string | null {
  try {
    return readFileSync(join(folder, file), 'utf8')
  } catch {
    return null
  }
}

/** Of a file with a line for each field. */
export function fieldIn(text: string | null, field: string): number | null {
  const found = text?.match(new RegExp(`^${field} (\\d+)$`, 'm'))?.[1]
  return found === undefined ? null : Number(found)
}

/** Not every kernel has every file; what has ended has none. */
export function writeIfThere(folder: string, file: string, value: string | number): void {
  try {
    if (existsSync(join(folder, file))) writeFileSync(join(folder, file), String(value))
  } catch {
    // Without swap accounting, say, there is nothing to limit.
  }
}

export const membersOf = (folder: string): number[] =>
  (textIn(folder, 'cgroup.procs') ?? '').split('\n').filter(Boolean).map(Number)

/** Every process of it, at once. One that forks as fast as it is killed loses after a few rounds: the group's own limit holds it. */
export function killMembers(folder: string): void {
  for (let round = 0; round < 50; round++) {
    const pids = membersOf(folder)
    if (pids.length === 0) return
    for (const pid of pids)
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended by itself.
      }
  }
}
