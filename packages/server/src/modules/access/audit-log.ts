import { createHash } from 'node:crypto'
import type { AuditEvent } from '../../http/audit-event.ts'
import { newId } from '../../platform/db/ids.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { AuditRow } from '../../platform/db/tables/access.ts'
import { isUniqueViolation } from '../../platform/db/violations.ts'
import type { AccessDeps } from './deps.ts'

const firstHash = '0'.repeat(64)
const attempts = 50

/** Appends to an organisation's chain. One writer at a time in this process; another control plane's shows as a taken number. */
export function createAuditLog({ database, clock }: AccessDeps) {
  const queues = new Map<string, Promise<void>>()
  return (event: AuditEvent): Promise<void> => {
    const organizationId = event.organizationId ?? ''
    const previous = queues.get(organizationId) ?? Promise.resolve()
    const mine = previous.catch(() => {}).then(() => append(database.db, organizationId, event, clock.now().getTime()))
    queues.set(organizationId, mine)
    const forget = () => {
      if (queues.get(organizationId) === mine) queues.delete(organizationId)
    }
    mine.then(forget, forget)
    return mine
  }
}

async function append(db: Db, organizationId: string, event: AuditEvent, at: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const entry = linked(await newest(db, organizationId), organizationId, event, at)
    const userEmail = event.userId
      ? ((await db.selectFrom('users').select('email').where('id', '=', event.userId).executeTakeFirst())?.email ?? null)
      : null
    try {
      await db
        .insertInto('auditLog')
        .values({ ...entry, userEmail })
        .execute()
      return
    } catch (error) {
      if (!isUniqueViolation(error) || attempt === attempts) throw error
    }
  }
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
    changes: JSON.stringify(event.changes ?? {}),
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
