import { hash } from 'node:crypto'
import type { AuditEvent } from '../../http/audit-event.ts'
import { batchWrites } from '../../platform/batch-writes.ts'
import { newId } from '../../platform/db/ids.ts'
import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { AuditRow } from '../../platform/db/tables/access.ts'
import { type RecordingTransaction, unrecorded } from '../../platform/db/write-record.ts'
import { changesText } from './audit-changes.ts'
import type { AccessDeps } from './deps.ts'

const firstHash = '0'.repeat(64)
const attempts = 50

/** A statement with this many rows blocks the event loop for less than a millisecond. */
const maxBatch = 50

interface Entry {
  event: AuditEvent
  at: number
}

export interface AuditLog {
  /** Appends within the transaction of the write that the event describes. */
  append(transaction: RecordingTransaction, event: AuditEvent): Promise<void>
  /** Appends in a transaction of its own, batched with other waiting events. */
  record(event: AuditEvent): Promise<void>
}

/** The audit log. Each organisation's hash chain has one writer at a time: others wait for the chain's lock until it commits. */
export function createAuditLog({ database, clock }: AccessDeps): AuditLog {
  const chains = new Map<string, { append(entry: Entry): Promise<unknown>; waiting: number }>()
  const now = () => clock.now().getTime()
  const appendTogether = (organizationId: string) => (entries: readonly Entry[]) =>
    unrecorded(() => database.transaction((transaction) => append(transaction, organizationId, entries)))
  return {
    append: async (transaction, event) => {
      await append(transaction, event.organizationId ?? '', [{ event, at: now() }])
    },
    async record(event) {
      const organizationId = event.organizationId ?? ''
      const chain = chains.get(organizationId) ?? {
        append: batchWrites(maxBatch, appendTogether(organizationId)),
        waiting: 0,
      }
      chains.set(organizationId, chain)
      chain.waiting += 1
      try {
        await chain.append({ event, at: now() })
      } finally {
        chain.waiting -= 1
        if (chain.waiting === 0) chains.delete(organizationId)
      }
    },
  }
}

/** Appends entries to a chain. The lock is taken last, so it is held only for the commit and transactions cannot deadlock. */
async function append(
  { db, lock }: RecordingTransaction,
  organizationId: string,
  entries: readonly Entry[],
): Promise<readonly undefined[]> {
  const emails = await emailsOf(
    db,
    entries.map(({ event }) => event.userId),
  )
  await lock(`audit-log:${organizationId}`)
  for (let attempt = 1; attempt <= attempts; attempt++) {
    let last: { sequence: number; hash: string } | undefined = await newest.first(db, { organizationId })
    const rows = entries.map(({ event, at }) => {
      const row = chainedRow(last, organizationId, event, at)
      last = row
      return { ...row, userEmail: emails.get(event.userId ?? '') ?? null }
    })
    // A control plane of an older version takes no lock: its entry then conflicts on the sequence number.
    const inserted = rows.length === 1 ? await entryInserted.all(db, rows[0]!) : await insertedEntries(db, rows).execute()
    if (inserted.length === rows.length) return entries.map(() => undefined)
    const ids = inserted.map(({ id }) => id)
    if (ids.length > 0) await db.deleteFrom('auditLog').where('id', 'in', ids).execute()
  }
  throw new Error(`writing the audit log of ${organizationId || 'the instance'} failed`)
}

async function emailsOf(db: Db, userIds: readonly (string | null)[]): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(userIds.filter((id) => id !== null))]
  const [only, second] = ids
  if (only === undefined) return new Map()
  if (second === undefined) return new Map((await emailOf.all(db, { id: only })).map(({ id, email }) => [id, email]))
  const rows = await db.selectFrom('users').select(['id', 'email']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, email }) => [id, email]))
}

const emailOf = preparedQuery((db, { id }: { id: string }) => db.selectFrom('users').select(['id', 'email']).where('id', '=', id))

const newest = preparedQuery((db, { organizationId }: { organizationId: string }) =>
  db
    .selectFrom('auditLog')
    .select(['sequence', 'hash'])
    .where('organizationId', '=', organizationId)
    .orderBy('sequence', 'desc')
    .limit(1),
)

const insertedEntries = (db: Db, rows: AuditRow | readonly AuditRow[]) =>
  db
    .insertInto('auditLog')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['organizationId', 'sequence']).doNothing())
    .returning('id')

const entryInserted = preparedQuery<AuditRow, { id: string }>((db, row) => insertedEntries(db, row))

function chainedRow(last: { sequence: number; hash: string } | undefined, organizationId: string, event: AuditEvent, at: number) {
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

/** Fields of the hash, in an order that must never change. The user's e-mail address is left out, because it may change. */
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
  return hash('sha256', JSON.stringify(content))
}

/** The first entry whose hash does not follow from the previous one; null when the chain is intact. `rows` oldest first. */
export function brokenLink(rows: readonly AuditRow[]): AuditRow | null {
  let previousHash = rows[0]?.previousHash ?? firstHash
  for (const row of rows) {
    if (row.previousHash !== previousHash || hashOf(row) !== row.hash) return row
    previousHash = row.hash
  }
  return null
}
