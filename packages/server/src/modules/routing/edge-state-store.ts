import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { EdgeEntryRow, EdgeStateRow } from '../../platform/db/tables/routing.ts'
import type { EdgeEntry, EntryChanges } from './edge-entries.ts'

/** SQL of the recorded state of the edge. */

const stateQuery = preparedQuery<{ id: 'edge' }, EdgeStateRow>((db, { id }) =>
  db.selectFrom('edgeStates').selectAll().where('id', '=', id),
)

/** Returns the row itself, without a promise, when the read cache has it. */
export const readEdgeState = (db: Db) => stateQuery.first(db, { id: 'edge' })

const pageLength = 1_000

/** Entries that changed after `version`, in pages: a large instance has some ten thousand. */
export async function* edgeEntriesAfter(db: Db, version: number): AsyncGenerator<EdgeEntryRow[]> {
  let last: Pick<EdgeEntryRow, 'kind' | 'name'> | undefined
  for (;;) {
    const page = db
      .selectFrom('edgeEntries')
      .selectAll()
      .where('version', '>', version)
      .orderBy('kind')
      .orderBy('name')
      .limit(pageLength)
    const rows = await (last
      ? page.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('kind', 'name'), '>', tuple(last?.kind as EdgeEntryRow['kind'], last?.name as string)),
        )
      : page
    ).execute()
    if (rows.length > 0) yield rows
    if (rows.length < pageLength) return
    last = rows.at(-1)
  }
}

/** Begins a new epoch: readers start over. */
export async function beginEpoch(db: Db, state: Omit<EdgeStateRow, 'id'>): Promise<void> {
  await db
    .insertInto('edgeStates')
    .values({ id: 'edge', ...state })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(state))
    .execute()
  await db.deleteFrom('edgeEntries').where('isRemoved', '=', 1).execute()
  await db.updateTable('edgeEntries').set({ version: state.version }).execute()
}

export const saveEdgeState = (db: Db, epoch: string, state: Omit<EdgeStateRow, 'id' | 'epoch'>) =>
  db.updateTable('edgeStates').set(state).where('epoch', '=', epoch).returning('version').executeTakeFirst()

const rowsPerStatement = 500

export async function saveEntries(db: Db, version: number, { changed, removed }: EntryChanges): Promise<void> {
  const rows = [
    ...changed.map((entry) => ({ ...entry, version, isRemoved: 0 as const })),
    ...removed.map((entry) => ({ ...entry, ...noValue, version, isRemoved: 1 as const })),
  ]
  for (let at = 0; at < rows.length; at += rowsPerStatement)
    await db
      .insertInto('edgeEntries')
      .values(rows.slice(at, at + rowsPerStatement))
      .onConflict((conflict) =>
        conflict.columns(['kind', 'name']).doUpdateSet(({ ref }) => ({
          text: ref('excluded.text'),
          tls: ref('excluded.tls'),
          version: ref('excluded.version'),
          isRemoved: ref('excluded.isRemoved'),
        })),
      )
      .execute()
}

const noValue: Pick<EdgeEntry, 'text' | 'tls'> = { text: null, tls: null }
