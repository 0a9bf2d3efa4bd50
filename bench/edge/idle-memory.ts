import { setTimeout as pause } from 'node:timers/promises'
import { memoryOf } from '../kit/process-memory.ts'
import { startConnections } from './connections.ts'
import type { Contender } from './contenders.ts'

/** Time in which garbage of the handshakes and requests may be freed. */
const settleMs = 3_000

/**
 * Resident kilobytes that each further idle connection adds, after its first response: the growth between a fifth of the connections
 * and all of them, since the first ones also grow the heap's fixed parts.
 */
export async function idleConnectionKilobytes(contender: Contender, protocol: 'http' | 'https', count: number): Promise<number> {
  await using connections = await startConnections(protocol === 'http' ? contender.port : contender.tlsPort, protocol)
  const first = Math.round(count / 5)
  await connections.open(first)
  const before = await settledBytes(contender.pid)
  await connections.open(count - first)
  return ((await settledBytes(contender.pid)) - before) / (count - first) / 1000
}

async function settledBytes(pid: number): Promise<number> {
  await pause(settleMs)
  return (await memoryOf(pid))!.rssBytes
}
