import { sql } from 'kysely'
import pg from 'pg'
import { expect, test } from 'vitest'
import { readJob, startJobs, testJob } from '../job-runner/test-jobs.ts'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { isDatabaseUnavailable } from './unavailable.ts'

/** Ends all connections to the database, as a restart of PostgreSQL does. */
async function endConnections(url: string | undefined): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`)
  await client.end()
}

describeOnEachDatabase('a database that cannot be reached', (open, kind) => {
  test('an error of a statement is not a lost connection', async () => {
    const { db } = await open()
    const error = await sql`select no_such_column`.execute(db).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Error)
    expect(isDatabaseUnavailable(error)).toBe(false)
    expect(isDatabaseUnavailable(new Error('Connection terminated unexpectedly'))).toBe(false)
  })

  if (kind === 'sqlite') return

  test('a lost connection is recognised, also inside a transaction', async () => {
    const database = await open()
    const error = await database
      .transaction(async ({ db }) => {
        await sql`select 1`.execute(db)
        await endConnections(database.settings.url)
        await sql`select 1`.execute(db)
      })
      .catch((reason: unknown) => reason)
    expect(isDatabaseUnavailable(error)).toBe(true)
  })

  test('a job that loses its connection runs again without counting the attempt', async () => {
    const database = await open()
    const attempts: number[] = []
    const work = testJob('work', {
      maxAttempts: 1,
      run: async (_payload, _deps, _abort, { attempt }) => {
        attempts.push(attempt)
        if (attempts.length > 3) return
        await database.transaction(async ({ db }) => {
          await endConnections(database.settings.url)
          await sql`select 1`.execute(db)
        })
      },
    })
    const { id } = await database.transaction(({ enqueue }) => enqueue(work, {}))
    await startJobs(database, [work])
    await expect.poll(async () => (await readJob(database, id).catch(() => null))?.status).toBe('succeeded')
    expect(attempts).toEqual([1, 1, 1, 1])
  })
})
