import type { ListenerAddress, ListenerOwner } from './listener-owner.ts'
import { type ListeningSocket, ListeningSockets } from './listening-sockets.ts'
import { treeHolds } from './process-tree.ts'

interface Question {
  address: ListenerAddress
  owner: ListenerOwner
  answer: (isOwn: boolean) => void
}

const keptAtMost = 10_000
/** A look through the processes that found nothing is not repeated for every visitor. */
const refusedMs = 500

let questions: Question[] = []
/** By process and socket: a socket that was proven stays what it is for as long as it listens. */
const proven = new Map<string, true | number>()

/**
 * Tells whether whoever takes connections at the address is the owner, and nobody else beside it. Ask it once the connection
 * is there and before anything is said on it. Questions of one turn of the event loop share one reading of the kernel's list.
 */
export function checkListener(address: ListenerAddress, owner: ListenerOwner, answer: (isOwn: boolean) => void): void {
  questions.push({ address, owner, answer })
  if (questions.length === 1) setImmediate(answerAll)
}

function answerAll(): void {
  const asked = questions
  questions = []
  const sockets = new ListeningSockets()
  for (const { address, owner, answer } of asked) {
    let isOwn = false
    try {
      const found = sockets.at(address)
      isOwn = found.length > 0 && found.every((socket) => belongs(socket, owner))
    } catch (cause) {
      console.error(new Date().toISOString(), 'a listener could not be looked up:', cause)
    }
    answer(isOwn)
  }
}

function belongs({ uid, inode }: ListeningSocket, owner: ListenerOwner): boolean {
  if ('uid' in owner) return uid === owner.uid || (uid === 0 && owner.orRoot === true)
  const key = `${owner.pid}.${owner.startTime}.${inode}`
  const known = proven.get(key)
  if (known === true) return true
  if (known !== undefined && performance.now() < known) return false
  const isOwn = treeHolds(owner, inode)
  if (proven.size >= keptAtMost) proven.clear()
  proven.set(key, isOwn || performance.now() + refusedMs)
  return isOwn
}
