import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { bootId } from '../../../../platform/boot-id.ts'
import { fieldsOfStat, processStat, startTimeOf } from '../../../../platform/process-stat.ts'

/** Identifies a process for good: a pid is reused, but not together with its start time within the same boot. */
export interface ProcessIdentity {
  pid: number
  /** Field 22 of /proc/<pid>/stat. Null where there is no /proc. */
  startTime: string | null
  /** The boot that the start time counts from. Absent in records of older versions. */
  boot?: string | null
}

export function identityOf(pid: number): ProcessIdentity {
  return { pid, startTime: startTimeOf(pid), boot: bootId() }
}

/**
 * Reads the identity that a process recorded when it was launched: its line of /proc, or its pid where there is no /proc, and
 * the boot id on the next line.
 */
export function readIdentity(processFile: string): ProcessIdentity | null {
  try {
    const [line = '', boot] = readFileSync(processFile, 'utf8').trim().split('\n')
    const pid = Number.parseInt(line, 10)
    if (!(pid > 0)) return null
    return { pid, startTime: line.includes(')') ? (fieldsOfStat(line)[19] ?? null) : null, ...(boot ? { boot } : {}) }
  } catch {
    return null
  }
}

/** A process of an earlier boot has ended, whatever has its pid now. */
const isOfThisBoot = ({ boot }: ProcessIdentity) => boot === undefined || boot === null || boot === bootId()

export function isAlive(identity: ProcessIdentity): boolean {
  const { pid, startTime } = identity
  if (!isOfThisBoot(identity)) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const state = processStat(pid)
  if (state === null) return startTime === null
  // A zombie has ended. Its parent has not collected the exit status yet.
  return state[0] !== 'Z' && (startTime === null || state[19] === startTime)
}

/** Signals the process group: the program and its child processes. */
export function signalGroup(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (isAlive(identity)) kill(-identity.pid, signal)
}

/**
 * Signals the program in its own process namespace. The leader of the process group is then bubblewrap's monitor, which reports
 * the exit code and must outlive the program. Returns false if there is no program yet. `candidates` limits the search.
 */
export function signalInNamespace(
  identity: ProcessIdentity,
  signal: NodeJS.Signals,
  candidates: readonly number[] = listPids(),
): boolean {
  if (!isAlive(identity)) return true
  const programs = candidates.filter((pid) => Number(processStat(pid)?.[2]) === identity.pid && isProgramInside(pid))
  for (const pid of programs) kill(pid, signal)
  return programs.length > 0
}

/** Process 1 of the namespace is bubblewrap's reaper, not the program. */
function isProgramInside(pid: number): boolean {
  const [, ...innerPids] = statusOf(pid, 'NSpid')
  return innerPids.length > 0 && innerPids.at(-1) !== '1'
}

/** Whether a process of the group still runs, with or without its leader. `candidates` limits the search. */
export function hasProcesses({ pid }: ProcessIdentity, candidates: readonly number[] = listPids()): boolean {
  return candidates.some((one) => {
    const fields = processStat(one)
    return fields !== null && Number(fields[2]) === pid && fields[0] !== 'Z'
  })
}

/** Kills the processes that a dead leader left in its group. The group id is not reused while one of them lives. */
export function killRemainingInGroup(identity: ProcessIdentity): void {
  const { pid, startTime } = identity
  if (!isOfThisBoot(identity)) return
  const leader = processStat(pid)
  if (leader === null || leader[19] === startTime) kill(-pid, 'SIGKILL')
}

const killWaitMs = 2_000

/** Kills every process with this group id. Stops all of them first, so that none can fork unnoticed. */
export async function killAllWithGroupId(gid: number): Promise<void> {
  const groupId = String(gid)
  const stopped = new Set<number>()
  const members = () => listPids().filter((pid) => statusOf(pid, 'Gid')[0] === groupId && processStat(pid)?.[0] !== 'Z')
  for (let round = 0; round < 1000; round++) {
    const found = members().filter((pid) => !stopped.has(pid))
    if (found.length === 0) break
    for (const pid of found) {
      kill(pid, 'SIGSTOP')
      stopped.add(pid)
    }
  }
  for (const pid of stopped) kill(pid, 'SIGKILL')
  const deadline = performance.now() + killWaitMs
  while (stopped.size > 0 && members().length > 0 && performance.now() < deadline) await pause(10)
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended meanwhile.
  }
}

const listPids = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)

function statusOf(pid: number, field: string): string[] {
  try {
    const lines = readFileSync(`/proc/${pid}/status`, 'utf8').split('\n')
    return (
      lines
        .find((line) => line.startsWith(`${field}:`))
        ?.split('\t')
        .slice(1) ?? []
    )
  } catch {
    return []
  }
}
