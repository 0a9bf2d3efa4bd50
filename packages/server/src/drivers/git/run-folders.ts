import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const activeFolders = new Set<string>()

/** Passes the path of a folder to `use`, which may create it, and removes the folder afterwards. */
export async function withRunFolder<Result>(parent: string, use: (path: string) => Promise<Result>): Promise<Result> {
  const path = join(parent, `${process.pid}-${randomUUID()}`)
  activeFolders.add(path)
  try {
    return await use(path)
  } finally {
    await rm(path, { recursive: true, force: true })
    activeFolders.delete(path)
  }
}

/**
 * Removes folders of runs that a killed control plane left, possibly with a key in them. In a container the next process has
 * the same pid.
 */
export async function removeLeftoverRuns(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number.parseInt(name, 10)
    const path = join(folder, name)
    if (activeFolders.has(path) || (pid !== process.pid && isRunning(pid))) continue
    await rm(path, { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
