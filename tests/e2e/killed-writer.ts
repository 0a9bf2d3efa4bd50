import { writeSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Database, openDatabase } from '../../packages/server/src/platform/database.ts'
import { recordedBy, WriteRecord } from '../../packages/server/src/platform/db/write-record.ts'
import { createJobs } from '../../packages/server/src/platform/job-runner/create-jobs.ts'
import { job } from '../../packages/server/src/platform/jobs/declare.ts'

/**
 * The program that `kill-during-writes.test.ts` kills. It writes rows, every fifth together with a job, and prints the name of
 * each on stdout once it is committed; with no rows to write it runs the jobs that are left, then ends.
 */
export interface WriterOrders {
  folder: string
  url?: string
  round: number
  writes: number
  /** Begins the line on stdout of a job that is between its two commits. */
  jobPrefix: string
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Two commits with a gap between them: a kill finds some jobs before, in and after it. */
const finish = job<{ name: string }, Database & Pick<WriterOrders, 'jobPrefix'>>('test.finish', {
  deadlineMs: 10_000,
  maxAttempts: 100,
  concurrency: 4,
  backoff: () => 10,
  async run({ name }, { db, jobPrefix }) {
    await sql`insert into "begun" values (${name}) on conflict do nothing`.execute(db)
    writeSync(1, `${jobPrefix}${name}\n`)
    await pause(Math.random() * 20)
    await sql`insert into "finished" values (${name}) on conflict do nothing`.execute(db)
  },
})

async function write({ transaction }: Database, { round, writes }: WriterOrders): Promise<void> {
  for (let i = 0; i < writes; i++) {
    const name = `${round}-${i}`
    const record = new WriteRecord({
      append: async ({ db }) => void (await sql`insert into "recorded" values (${name})`.execute(db)),
      appendAlone: async () => {},
    })
    await recordedBy(record, () =>
      transaction(async ({ db, enqueue }) => {
        await sql`insert into "written" values (${name})`.execute(db)
        if (i % 5 === 0) await enqueue(finish, { name })
      }),
    )
    writeSync(1, `${name}\n`)
    // SQLite commits without waiting; without a turn of the event loop no job would start before the last write.
    if (i % 5 === 0) await nextTurn()
  }
}

async function allJobsEnded({ db }: Database): Promise<boolean> {
  return !(await db.selectFrom('jobs').select('id').where('status', 'in', ['queued', 'running']).executeTakeFirst())
}

const orders = JSON.parse(process.argv[2] as string) as WriterOrders
const database = await openDatabase(orders)
const jobs = createJobs({
  database,
  signals: database.signals,
  deps: { ...database, jobPrefix: orders.jobPrefix },
  jobs: [finish],
  leaseMs: 500,
  pollMs: 200,
})
await jobs.start()
await write(database, orders)
while (!(await allJobsEnded(database))) await pause(20)
await jobs.stop()
await database.close()
