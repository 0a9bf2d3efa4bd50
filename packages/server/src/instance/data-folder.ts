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
  /** Releases the folder for other processes; the end of this process does the same. */
  release(): void
}

/**
 * Creates the folder, accessible to its owner only, and locks it for this process. The kernel holds the lock, so a dead process
 * holds none; the note next to it is only for the error message.
 */
export async function openDataFolder(path: string): Promise<DataFolder> {
  makeFolder(path)
  // The only folder here with user files: its subfolders can be projects.
  makeFolder(join(path, 'projects'))
  const lock = takeFileLock(join(path, 'in-use.lock'))
  if (!lock)
    throw new DataFolderInUse(
      `${path} is in use by ${await describeHolder(path)}. Stop it first, or set BERTH_DATA_DIR to another folder.`,
    )
  try {
    writeNote(path)
  } catch (error) {
    lock.release()
    throw error
  }
  let held = true
  return {
    path,
    release: () => {
      if (!held) return
      held = false
      // The note is removed before the lock is released: afterwards it could be the next holder's.
      rmSync(noteFile(path), { force: true })
      lock.release()
    },
  }
}

/** The process that holds the folder. Two containers may share it and both have pid 1, hence the host name and the times. */
interface Note {
  pid: number
  host: string
  since: string
  /** Start time of the process since boot, and the boot id: a reused pid has another start time. */
  processStart: string | null
  boot: string | null
}

const noteFile = (path: string) => join(path, 'in-use.json')

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    chmodSync(path, 0o700)
  } catch (cause) {
    throw new Error(`The data folder ${path} cannot be created: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

function writeNote(path: string): void {
  const note: Note = {
    pid: process.pid,
    host: hostname(),
    since: new Date().toISOString(),
    processStart: startTimeOf(process.pid),
    boot: boot(),
  }
  const draft = `${noteFile(path)}.tmp`
  writeFileSync(draft, JSON.stringify(note), { mode: 0o600 })
  renameSync(draft, noteFile(path))
}

/** Describes the holder. It may not have written its note yet, and an older note may name a dead process: wait for a valid one. */
async function describeHolder(path: string): Promise<string> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const note = readNote(path)
    if (note && isTrue(note)) {
      const where = note.host === hostname() ? '' : ` on ${note.host}`
      return `another process, pid ${note.pid}${where}, since ${note.since}`
    }
    await pause(50)
  }
  return 'another process'
}

function readNote(path: string): Note | null {
  try {
    return JSON.parse(readFileSync(noteFile(path), 'utf8')) as Note
  } catch {
    return null
  }
}

/** Whether the note is valid. A process of another host or container cannot be checked, so its note is trusted. */
function isTrue({ pid, host, processStart: start, boot: atBoot }: Note): boolean {
  if (host !== hostname()) return true
  if (atBoot !== boot()) return false
  return start === null ? isAlive(pid) : start === startTimeOf(pid)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function boot(): string | null {
  return readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? null
}

function readProc(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
