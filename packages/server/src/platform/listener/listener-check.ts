import { pauseEnd } from '../pause-end.ts'
import type { ListenerAddress, ListenerOwner } from './listener-owner.ts'
import { ListeningSockets } from './listening-sockets.ts'
import { treeHolds } from './process-tree.ts'

interface ListenerQuery {
  address: ListenerAddress
  owner: ListenerOwner
  answer: (isOwner: boolean) => void
}

const maxCached = 10_000
/** Maximum number of listeners that share one address and port (SO_REUSEPORT); more are treated as foreign. */
const maxShared = 256
/** How long further requests are refused without another search, after a search through the processes that found nothing. */
const refusalMs = 500
/** Maximum share of time spent searching, since the project controls how long a search takes. */
const searchShare = 0.1

let pendingQueries: ListenerQuery[] = []
/**
 * Results by process and socket. True: the process holds it, which does not change while the socket listens. A number: the
 * monotonic time until which requests are refused without another search.
 */
const proven = new Map<string, true | number>()
const searching = new Map<string, Promise<boolean>>()

/**
 * Calls back with true if the owner holds every socket that accepts connections at the address. Call it once connected and before
 * sending anything. Calls in one iteration of the event loop share one read of the kernel's socket list.
 */
export function checkListener(address: ListenerAddress, owner: ListenerOwner, answer: (isOwner: boolean) => void): void {
  pendingQueries.push({ address, owner, answer })
  if (pendingQueries.length === 1) setImmediate(answerAll)
}

function answerAll(): void {
  const queries = pendingQueries
  pendingQueries = []
  const sockets = new ListeningSockets()
  // Each on its own: a long search in one project's processes must not delay the answer for another project.
  for (const { address, owner, answer } of queries)
    isListener(address, owner, sockets).then(answer, (cause) => {
      console.error(new Date().toISOString(), 'listener: lookup failed:', cause)
      answer(false)
    })
}

async function isListener(address: ListenerAddress, owner: ListenerOwner, sockets: ListeningSockets): Promise<boolean> {
  const found = await sockets.at(address)
  if (found.length === 0 || found.length > maxShared) return false
  if ('uid' in owner) return found.every(({ uid }) => uid === owner.uid || (uid === 0 && owner.orRoot === true))
  return areHeldBy(
    found.map(({ inode }) => inode),
    owner,
  )
}

type LaunchedProcess = Extract<ListenerOwner, { pid: number }>

async function areHeldBy(inodes: readonly string[], owner: LaunchedProcess): Promise<boolean> {
  const now = performance.now()
  const keys = inodes.map((inode) => keyOf(owner, inode))
  const isRefused = (key: string) => {
    const until = proven.get(key)
    return typeof until === 'number' && now < until
  }
  if (keys.some(isRefused)) return false
  const unknown = inodes.filter((_, at) => proven.get(keys[at] as string) !== true)
  if (unknown.length === 0) return true
  const key = keyOf(owner, unknown.join())
  const search = searching.get(key) ?? searchTree(key, owner, unknown)
  searching.set(key, search)
  return search
}

const keyOf = ({ pid, startTime }: LaunchedProcess, inodes: string) => `${pid}.${startTime}.${inodes}`

async function searchTree(key: string, owner: LaunchedProcess, inodes: readonly string[]): Promise<boolean> {
  const startedAt = performance.now()
  try {
    const isOwner = await treeHolds(owner, inodes)
    if (proven.size >= maxCached) proven.clear()
    const result = isOwner || Math.max(performance.now() + refusalMs, pauseEnd(startedAt, searchShare))
    for (const inode of inodes) proven.set(keyOf(owner, inode), result)
    return isOwner
  } finally {
    searching.delete(key)
  }
}
