import { createHash } from 'node:crypto'
import type { AuditEvent } from '../../http/audit-event.ts'
import { newId } from '../../platform/db/ids.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { AuditRow } from '../../platform/db/tables/access.ts'
import { isUniqueViolation } from '../../platform/db/violations.ts'
import { writeTogether } from '../../platform/write-together.ts'
import { changesText } from './audit-changes.ts'
import type { AccessDeps } from './deps.ts'

const firstHash = '0'.repeat(64)
const attempts = 50

/** A statement of so many rows keeps the process from all else for less than a millisecond. */
const mostTogether = 50

interface Entry {
  event: AuditEvent
  at: number
}

/** Appends to an organisation's chain. One writer at a time in this process; another control plane's shows as a taken number. */
export function createAuditLog({ database, clock }: AccessDeps) {
  const chains = new Map<string, { append(entry: Entry): Promise<unknown>; waiting: number }>()
  return async (event: AuditEvent): Promise<void> => {
    const organizationId = event.organizationId ?? ''
    const chain = chains.get(organizationId) ?? {
      append: writeTogether(mostTogether, (entries: readonly Entry[]) => append(database.db, organizationId, entries)),
      waiting: 0,
    }
    chains.set(organizationId, chain)
    chain.waiting += 1
    try {
      await chain.append({ event, at: clock.now().getTime() })
    } finally {
      chain.waiting -= 1
      if (chain.waiting === 0) chains.delete(organizationId)
    }
  }
}

async function append(db: Db, organizationId: string, entries: readonly Entry[]): Promise<readonly undefined[]> {
  const emails = await emailsOf(
    db,
    entries.map(({ event }) => event.userId),
  )
  for (let attempt = 1; ; attempt++) {
    let last = await newest(db, organizationId)
    const rows = entries.map(({ event, at }) => {
      const row = linked(last, organizationId, event, at)
      last = row
      return { ...row, userEmail: emails.get(event.userId ?? '') ?? null }
    })
    try {
      await db.insertInto('auditLog').values(rows).execute()
      return entries.map(() => undefined)
    } catch (error) {
      if (!isUniqueViolation(error) || attempt === attempts) throw error
    }
  }
}

async function emailsOf(db: Db, userIds: readonly (string | null)[]): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(userIds.filter((id) => id !== null))]
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('users').select(['id', 'email']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, email }) => [id, email]))
}

const newest = (db: Db, organizationId: string) =>
  db
    .selectFrom('auditLog')
    .select(['sequence', 'hash'])
    .where('organizationId', '=', organizationId)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()

function linked(last: { sequence: number; hash: string } | undefined, organizationId: string, event: AuditEvent, at: number) {
  const entry = {
    id: newId('aud'),
    organizationId,
    sequence: (last?.sequence ?? 0) + 1,
    at,
    action: event.action,
    userId: event.userId,
    tokenId: event.tokenId,
    ip: event.ip,
    objectKind: event.objectKind,
    objectId: event.objectId,
    changes: changesText(event.changes),
    requestId: event.requestId,
    previousHash: last?.hash ?? firstHash,
  }
  return { ...entry, hash: hashOf(entry) }
}

/** In this order, for ever. The address of the person is not among them: it may change. */
const hashedFields = [
  'previousHash',
  'id',
  'organizationId',
  'sequence',
  'at',
  'action',
  'userId',
  'tokenId',
  'ip',
  'objectKind',
  'objectId',
  'changes',
  'requestId',
] as const satisfies (keyof AuditRow)[]

export function hashOf(entry: Pick<AuditRow, (typeof hashedFields)[number]>): string {
  const content = hashedFields.map((field) => entry[field])
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
}

/** The first entry that does not follow from the one before it, or null when the chain is whole. `rows` oldest first. */
export function brokenLink(rows: readonly AuditRow[]): AuditRow | null {
  let previousHash = rows[0]?.previousHash ?? firstHash
  for (const row of rows) {
    if (row.previousHash !== previousHash || hashOf(row) !== row.hash) return row
    previousHash = row.hash
  }
  return null
}
