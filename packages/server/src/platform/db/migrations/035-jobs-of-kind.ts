import { type Kysely, sql } from 'kysely'

/** An index in which the most urgent queued job of a kind is the first entry of that kind. */
export const migration = {
  name: '035-jobs-of-kind',
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`create index "jobsOfKind" on jobs (kind, priority desc, "runAt", sequence) where status = 'queued'`.execute(db)
  },
}
