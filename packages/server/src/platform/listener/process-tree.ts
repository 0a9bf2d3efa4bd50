import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { processStat, startTimeOf } from '../process-stat.ts'

interface Descent {
  parent: number
  session: number
}

/** What one look through all processes has read. */
type Seen = Map<number, Descent | undefined>

const processesAtMost = 4096
const generationsAtMost = 64

/**
 * Whether a process that came out of the one that was launched has the socket open: a descendant, also one in a pid
 * namespace of its own, or one of its session whose parent has ended.
 */
export function treeHolds({ pid, startTime }: { pid: number; startTime: string }, inode: string): boolean {
  if (startTimeOf(pid) !== startTime) return false
  const link = `socket:[${inode}]`
  // Asked again of the one that has it: a number that was listed may have gone to a stranger since.
  const isOurs = (one: number) => holds(one, link) && comesFrom(one, pid) && startTimeOf(pid) === startTime
  if (descendants(pid).some(isOurs)) return true
  const seen: Seen = new Map()
  return everybody().some((one) => comesFrom(one, pid, seen) && isOurs(one))
}

/** The sockets that a process and everything that descends from it have open, by inode. */
export function socketsOf({ pid, startTime }: { pid: number; startTime: string | null }): Set<string> {
  const found = new Set<string>()
  if (startTime === null || startTimeOf(pid) !== startTime) return found
  for (const one of descendants(pid))
    for (const descriptor of namesIn(`/proc/${one}/fd`)) {
      const inode = socketAt(`/proc/${one}/fd/${descriptor}`)
      if (inode) found.add(inode)
    }
  return found
}

function socketAt(link: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(link))?.[1]
  } catch {
    // Closed meanwhile.
    return undefined
  }
}

function holds(pid: number, link: string): boolean {
  for (const descriptor of namesIn(`/proc/${pid}/fd`)) {
    try {
      if (readlinkSync(`/proc/${pid}/fd/${descriptor}`) === link) return true
    } catch {
      // Closed meanwhile.
    }
  }
  return false
}

function comesFrom(pid: number, ancestor: number, seen: Seen = new Map()): boolean {
  for (let one = pid, generation = 0; one > 0 && generation < generationsAtMost; generation++) {
    if (one === ancestor) return true
    if (!seen.has(one)) seen.set(one, descentOf(one))
    const stat = seen.get(one)
    if (!stat) return false
    if (stat.session === ancestor) return true
    one = stat.parent
  }
  return false
}

/** With the process itself; nothing but it where the kernel keeps no list of children. */
export function descendants(pid: number): number[] {
  const found = [pid]
  for (let at = 0; at < found.length && found.length < processesAtMost; at++)
    for (const thread of namesIn(`/proc/${found[at]}/task`))
      found.push(...childrenOf(`/proc/${found[at]}/task/${thread}/children`))
  return found
}

function childrenOf(file: string): number[] {
  try {
    return readFileSync(file, 'latin1').split(' ').map(Number).filter(Boolean)
  } catch {
    return []
  }
}

const everybody = () => namesIn('/proc').map(Number).filter(Boolean)

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function descentOf(pid: number): Descent | undefined {
  const stat = processStat(pid)
  return stat ? { parent: Number(stat[1]), session: Number(stat[3]) } : undefined
}
