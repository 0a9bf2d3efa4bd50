import type { AuditEntry } from '@berth/contract'

export type ChainReport =
  | { state: 'intact'; entries: number; includesFirstEntry: boolean }
  | { state: 'broken'; at: AuditEntry; why: string }

const firstHash = '0'.repeat(64)
const encoder = new TextEncoder()

/**
 * Verifies that each entry contains the hash of the previous one. `entries` are newest first, as the API lists them. If they include
 * the first entry of the log, every hash is recomputed from its entry; otherwise only the links are compared.
 */
export async function checkChain(entries: readonly AuditEntry[], organizationId: string): Promise<ChainReport> {
  const oldestFirst = [...entries].reverse()
  const includesFirstEntry = oldestFirst[0]?.previousHash === firstHash
  let previousHash = oldestFirst[0]?.previousHash
  for (const [at, entry] of oldestFirst.entries()) {
    if (entry.previousHash !== previousHash) return { state: 'broken', at: entry, why: 'it does not match the previous entry' }
    if (includesFirstEntry && (await hashOf(entry, organizationId, at + 1)) !== entry.hash)
      return { state: 'broken', at: entry, why: 'its content does not match its hash' }
    previousHash = entry.hash
  }
  return { state: 'intact', entries: entries.length, includesFirstEntry }
}

/** Must match the server: the fields and their order never change. */
async function hashOf(entry: AuditEntry, organizationId: string, sequence: number): Promise<string> {
  const { previousHash, id, at, action, userId, tokenId, ip, objectKind, objectId, changes, requestId } = entry
  const content = [
    previousHash,
    id,
    organizationId,
    sequence,
    Date.parse(at),
    action,
    userId,
    tokenId,
    ip,
    objectKind,
    objectId,
    JSON.stringify(changes),
    requestId,
  ]
  const digest = await crypto.subtle.digest('SHA-256', encoder.encode(JSON.stringify(content)))
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
