import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { bootId } from '../platform/boot-id.ts'
import { processStat, startTimeOf } from '../platform/process-stat.ts'

/** up: a control plane. down: a command that stops what a control plane left running. */
export type FolderPurpose = 'up' | 'down'

/** The process that holds the data folder. Two containers may share it and both have pid 1, hence the host name and the times. */
export interface FolderHolder {
  pid: number
  host: string
  since: string
  /** Start time of the process since boot, and the boot id: a reused pid has another start time. */
  processStart: string | null
  bootId: string | null
  /** Absent in the file of an older version. */
  purpose?: FolderPurpose
  /** Version of Berth. Absent in the file of an older version. */
  version?: string
}

const holderFile = (path: string) => join(path, 'in-use.json')

/** `pid`: the process to stop, which is this one or its supervisor. */
export function writeHolder(path: string, { pid, purpose, version }: Pick<FolderHolder, 'pid' | 'purpose' | 'version'>): void {
  const holder: FolderHolder = {
    pid,
    host: hostname(),
    since: new Date().toISOString(),
    processStart: startTimeOf(pid),
    bootId: bootId(),
    ...(purpose ? { purpose } : {}),
    ...(version ? { version } : {}),
  }
  const draft = `${holderFile(path)}.tmp`
  writeFileSync(draft, JSON.stringify(holder), { mode: 0o600 })
  renameSync(draft, holderFile(path))
}

export const removeHolder = (path: string): void => rmSync(holderFile(path), { force: true })

/** The process that holds the folder. Undefined if the file is missing or names a process that has ended. */
export function currentHolder(path: string): FolderHolder | undefined {
  const holder = readHolder(path)
  return holder && isCurrent(holder) ? holder : undefined
}

function readHolder(path: string): FolderHolder | null {
  try {
    return JSON.parse(readFileSync(holderFile(path), 'utf8')) as FolderHolder
  } catch {
    return null
  }
}

/** Whether the holder is alive. A process of another host or container cannot be checked and counts as alive. */
function isCurrent({ pid, host, processStart: holderStart, bootId: holderBootId }: FolderHolder): boolean {
  if (host !== hostname()) return true
  if (holderBootId !== bootId()) return false
  return holderStart === null ? isAlive(pid) : holderStart === startTimeOf(pid) && !isZombie(pid)
}

/** A process that was killed and whose parent has not noticed it yet. */
const isZombie = (pid: number): boolean => processStat(pid)?.[0] === 'Z'

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
