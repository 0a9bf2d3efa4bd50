import type { AuditEntry } from '@berth/contract'

export type ChainReport =
  | { state: 'whole'; entries: number; isFromTheStart: boolean }
  | { state: 'broken'; at: AuditEntry; why: string }

const firstHash = '0'.repeat(64)
const encoder = new TextEncoder()

/**
 * Whether each entry follows from the one before it. `entries` newest first, as the API lists them. Where the first entry of all is
 * among them, every hash is computed anew from what the entry says; otherwise the links alone are compared.
 */
export async function checkChain(entries: readonly AuditEntry[], organizationId: string): Promise<ChainReport> {
  const oldestFirst = [...entries].reverse()
  const isFromTheStart = oldestFirst[0]?.previousHash === firstHash
  let previousHash = oldestFirst[0]?.previousHash
  for (const [at, entry] of oldestFirst.entries()) {
    if (entry.previousHash !== previousHash) return { state: 'broken', at: entry, why: 'it does not match the previous entry' }
    if (isFromTheStart && (await hashOf(entry, organizationId, at + 1)) !== entry.hash)
      return { state: 'broken', at: entry, why: 'its content does not match its hash' }
    previousHash = entry.hash
  }
  return { state: 'whole', entries: entries.length, isFromTheStart }
}

/** The fields and their order are the server's, for ever. */
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
