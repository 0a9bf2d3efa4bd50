import type { Selectable } from 'kysely'
import type { Database } from '../database.ts'
import type { Millis } from '../db/columns.ts'
import { databaseNow } from '../db/now.ts'
import type { Db } from '../db/schema.ts'
import type { MachinesTable } from '../db/tables/machines.ts'

export type MachineRow = Selectable<MachinesTable>

/** How a machine runs projects. */
export type MachineFacts = Pick<MachineRow, 'runtime' | 'isolationKind' | 'isolationMessage'>

const unknownFacts: MachineFacts = { runtime: null, isolationKind: null, isolationMessage: null }

/** The machine that runs projects, with the current time of the database's clock. */
export const findMachine = (db: Db, kind: Database['kind']): Promise<(MachineRow & { now: Millis }) | undefined> =>
  db.selectFrom('machines').selectAll().select(databaseNow(kind).as('now')).executeTakeFirst()

export const readMachineFacts = (db: Db): Promise<MachineFacts | undefined> =>
  db.selectFrom('machines').select(['runtime', 'isolationKind', 'isolationMessage']).executeTakeFirst()

export async function replaceMachine(
  db: Db,
  kind: Database['kind'],
  machine: Omit<MachineRow, 'startedAt' | 'seenAt' | keyof MachineFacts>,
): Promise<void> {
  await db.deleteFrom('machines').execute()
  const now = databaseNow(kind)
  await db
    .insertInto('machines')
    .values({ ...machine, ...unknownFacts, startedAt: now, seenAt: now })
    .execute()
}

/** Returns false if another process holds the id, or another machine runs the projects. */
export async function renewMachine({ db, kind }: Database, sessionToken: string, facts?: MachineFacts): Promise<boolean> {
  const renewed = await db
    .updateTable('machines')
    .set({ ...facts, seenAt: databaseNow(kind) })
    .where('sessionToken', '=', sessionToken)
    .returning('id')
    .executeTakeFirst()
  return renewed !== undefined
}

/** Records that the machine was stopped in order; its next start need not wait. */
export const releaseMachine = ({ db }: Database, sessionToken: string): Promise<unknown> =>
  db.updateTable('machines').set({ sessionToken: null }).where('sessionToken', '=', sessionToken).execute()
