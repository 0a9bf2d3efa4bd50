import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { takeFileLock } from '../platform/file-lock.ts'
import { startTimeOf } from '../platform/process-stat.ts'

/** Another process uses the folder; the message names it. */
export class DataFolderInUse extends Error {
  override name = 'DataFolderInUse'
}

export interface DataFolder {
  readonly path: string
  /** Releases the lock. It is also released when this process ends. */
  release(): void
}

/**
 * Creates the folder, accessible to its owner only, and locks it for this process. The kernel releases the lock when the process
 * ends. The holder file next to the lock is only for the error message.
 */
export async function openDataFolder(path: string): Promise<DataFolder> {
  makeFolder(path)
  // Subfolders of `projects` can be local projects.
  makeFolder(join(path, 'projects'))
  const lock = takeFileLock(join(path, 'in-use.lock'))
  if (!lock)
    throw new DataFolderInUse(
      `${path} is in use by ${await describeHolder(path)}. Stop it first, or set BERTH_DATA_DIR to another folder.`,
    )
  try {
    writeHolder(path)
  } catch (error) {
    lock.release()
    throw error
  }
  let isHeld = true
  return {
    path,
    release: () => {
      if (!isHeld) return
      isHeld = false
      // The holder file is removed before the lock is released: afterwards it could be the file of the next holder.
      rmSync(holderFile(path), { force: true })
      lock.release()
    },
  }
}

/** The process that holds the folder. Two containers may share it and both have pid 1, hence the host name and the times. */
interface HolderInfo {
  pid: number
  host: string
  since: string
  /** Start time of the process since boot, and the boot id: a reused pid has another start time. */
  processStart: string | null
  bootId: string | null
}

const holderFile = (path: string) => join(path, 'in-use.json')

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    chmodSync(path, 0o700)
  } catch (cause) {
    throw new Error(`The data folder ${path} cannot be created: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

function writeHolder(path: string): void {
  const holder: HolderInfo = {
    pid: process.pid,
    host: hostname(),
    since: new Date().toISOString(),
    processStart: startTimeOf(process.pid),
    bootId: bootId(),
  }
  const draft = `${holderFile(path)}.tmp`
  writeFileSync(draft, JSON.stringify(holder), { mode: 0o600 })
  renameSync(draft, holderFile(path))
}

/** Describes the holder. Its file may not be written yet, or be that of a dead process: waits until the file is current. */
async function describeHolder(path: string): Promise<string> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const holder = readHolder(path)
    if (holder && isCurrent(holder)) {
      const onHost = holder.host === hostname() ? '' : ` on ${holder.host}`
      return `another process, pid ${holder.pid}${onHost}, since ${holder.since}`
    }
    await pause(50)
  }
  return 'another process'
}

function readHolder(path: string): HolderInfo | null {
  try {
    return JSON.parse(readFileSync(holderFile(path), 'utf8')) as HolderInfo
  } catch {
    return null
  }
}

/** Whether the holder is alive. A process of another host or container cannot be checked and counts as alive. */
function isCurrent({ pid, host, processStart: holderStart, bootId: holderBootId }: HolderInfo): boolean {
  if (host !== hostname()) return true
  if (holderBootId !== bootId()) return false
  return holderStart === null ? isAlive(pid) : holderStart === startTimeOf(pid)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Identifies this boot of the kernel, shared by its containers; null where the kernel has none. */
export function bootId(): string | null {
  return readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? null
}

function readProc(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
