import { type Kysely, sql } from 'kysely'

/** The most urgent job of a kind is the first of its part of this index, however many wait behind it. */
export const migration = {
  name: '035-jobs-of-kind',
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`create index "jobsOfKind" on jobs (kind, priority desc, "runAt", sequence) where status = 'queued'`.execute(db)
  },
}
