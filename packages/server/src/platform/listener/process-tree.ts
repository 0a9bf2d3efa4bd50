import { type Dir, readFileSync, readlinkSync } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { processStat, startTimeOf } from '../process-stat.ts'

interface Descent {
  parent: number
  session: number
}

/** Parent and session of each process that a search has read. */
type Seen = Map<number, Descent | undefined>

/**
 * Limits of a search. A project controls how many processes it has and how many files they open, so a search beyond these limits
 * ends without a result: the edge then sends nothing to that project.
 */
export const searchBounds = { processes: 4096, threads: 4096, descriptors: 16_384, generations: 64 }
/** Descriptors that are read of every process before the rest of any: a program usually opens its listener early. */
const firstDescriptors = 128
/** Entries that are read without yielding: less than a millisecond. */
const entriesPerSlice = 64

/**
 * True if the launched process and its descendants hold all the sockets. Descendants may be in their own pid namespace. Processes
 * in the session of the launched process count as descendants even if their parent has exited.
 */
export async function treeHolds(
  { pid, startTime }: { pid: number; startTime: string },
  inodes: Iterable<string>,
  { descriptors } = searchBounds,
): Promise<boolean> {
  if (startTimeOf(pid) !== startTime) return false
  const missing = new Set(inodes)
  // Checked again for the process that holds the socket: its pid may have been reused since it was listed.
  const isInTree = (current: number) => isDescendant(current, pid) && startTimeOf(pid) === startTime
  const tree = await descendants(pid)
  const search = async (pids: readonly number[]) => {
    for await (const { inode, holder } of findSockets(pids, missing, descriptors))
      if (isInTree(holder) && missing.delete(inode) && missing.size === 0) return
  }
  await search(tree)
  if (missing.size > 0) await search(await sessionOf(pid, new Set(tree)))
  return missing.size === 0
}

/** The wanted sockets, by inode, that a process or one of its descendants holds open. */
export async function socketsOf(
  { pid, startTime }: { pid: number; startTime: string | null },
  wanted: ReadonlySet<string>,
): Promise<Set<string>> {
  const found = new Set<string>()
  if (wanted.size === 0 || startTime === null || startTimeOf(pid) !== startTime) return found
  for await (const { inode } of findSockets(await descendants(pid), wanted, searchBounds.descriptors)) found.add(inode)
  return found
}

/** Yields the wanted sockets among the open files of the processes: first the low descriptors of each, then the rest. */
async function* findSockets(
  pids: readonly number[],
  wanted: ReadonlySet<string>,
  max: number,
): AsyncGenerator<{ inode: string; holder: number }> {
  let remaining = max
  const unfinished: number[] = []
  for (const pid of pids) {
    const names = await namesIn(`/proc/${pid}/fd`, Math.min(remaining, firstDescriptors))
    remaining -= names.length
    if (names.length === firstDescriptors) unfinished.push(pid)
    yield* socketsAmong(names, pid, wanted)
    if (remaining <= 0) return
  }
  for (const pid of unfinished) {
    const names = (await namesIn(`/proc/${pid}/fd`, firstDescriptors + remaining)).slice(firstDescriptors)
    remaining -= names.length
    yield* socketsAmong(names, pid, wanted)
    if (remaining <= 0) return
  }
}

async function* socketsAmong(names: readonly string[], holder: number, wanted: ReadonlySet<string>) {
  for (const [at, name] of names.entries()) {
    if (at % entriesPerSlice === entriesPerSlice - 1) await yieldToOthers()
    const inode = socketAt(`/proc/${holder}/fd/${name}`)
    if (inode !== undefined && wanted.has(inode)) yield { inode, holder }
  }
}

function socketAt(link: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(link))?.[1]
  } catch {
    // The file was closed meanwhile.
    return undefined
  }
}

function isDescendant(pid: number, ancestor: number, seen: Seen = new Map()): boolean {
  for (let current = pid, generation = 0; current > 0 && generation < searchBounds.generations; generation++) {
    if (current === ancestor) return true
    if (!seen.has(current)) seen.set(current, descentOf(current))
    const stat = seen.get(current)
    if (!stat) return false
    if (stat.session === ancestor) return true
    current = stat.parent
  }
  return false
}

/** The process and its descendants; only the process itself if the kernel does not list children. */
export async function descendants(pid: number): Promise<number[]> {
  const found = [pid]
  let threads = searchBounds.threads
  for (let at = 0; at < found.length && threads > 0; at++)
    for (const thread of await namesIn(`/proc/${found[at]}/task`, threads)) {
      threads -= 1
      if (threads % entriesPerSlice === 0) await yieldToOthers()
      const freeSlots = searchBounds.processes - found.length
      found.push(...childrenOf(`/proc/${found[at]}/task/${thread}/children`).slice(0, freeSlots))
    }
  return found
}

function childrenOf(file: string): number[] {
  try {
    return readFileSync(file, 'latin1').split(' ').map(Number).filter(Boolean)
  } catch {
    return []
  }
}

/** Processes of its session that are no longer its descendants, because their parent exited; without those in `known`. */
async function sessionOf(pid: number, known: ReadonlySet<number>): Promise<number[]> {
  const seen: Seen = new Map()
  const found: number[] = []
  const names = await namesIn('/proc', Number.POSITIVE_INFINITY)
  for (const [at, name] of names.entries()) {
    if (at % entriesPerSlice === entriesPerSlice - 1) await yieldToOthers()
    const current = Number(name)
    if (current > 0 && !known.has(current) && isDescendant(current, pid, seen)) found.push(current)
    if (found.length >= searchBounds.processes) break
  }
  return found
}

/** The first names in a /proc folder, in the kernel's order: for descriptors, the ones that were opened first. */
async function namesIn(folder: string, max: number): Promise<string[]> {
  const names: string[] = []
  let open: Dir
  try {
    open = await opendir(folder, { bufferSize: entriesPerSlice })
  } catch {
    return names
  }
  try {
    for (let entry = await open.read(); entry && names.length < max; entry = await open.read()) names.push(entry.name)
  } catch {
    // The process has exited meanwhile.
  } finally {
    await open.close().catch(() => undefined)
  }
  return names
}

function descentOf(pid: number): Descent | undefined {
  const stat = processStat(pid)
  return stat ? { parent: Number(stat[1]), session: Number(stat[3]) } : undefined
}
