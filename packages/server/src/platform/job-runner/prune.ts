import type { Database } from '../database.ts'
import { type Job, job } from '../jobs/declare.ts'

const batch = 500

/** Removes finished jobs that are older than `keepMs`, a few at a time so that no write waits long behind it. */
export function pruneJob<Deps>(database: Database, keepMs: number, now: () => Date): Job<Record<string, never>, Deps> {
  return job<Record<string, never>, Deps>('jobs.prune', {
    deadlineMs: 300_000,
    async run(_payload, _deps, abort) {
      const before = now().getTime() - keepMs
      while (!abort.aborted && (await pruneBatch(database, before)) === batch);
    },
  })
}

async function pruneBatch({ db }: Database, before: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('jobs')
    .where('id', 'in', (eb) =>
      eb.selectFrom('jobs').select('id').where('finishedAt', '<', before).orderBy('finishedAt').limit(batch),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
