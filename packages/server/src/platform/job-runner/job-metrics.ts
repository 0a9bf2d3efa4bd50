import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database } from '../database.ts'
import { isQueued, isRunning } from '../jobs/statuses.ts'
import { DurationTally } from '../metrics/duration-tally.ts'
import { type MetricSource, metricSource } from '../metrics/metric-source.ts'
import type { Ending } from './lease.ts'

type Result = Ending['as']

const bounds = [0.01, 0.1, 1, 10, 60, 300, 1800]
/** Rows that a scrape counts at most: a longer queue is shown as this long. */
const maxCounted = 100_000

/** Metrics of the queue, which all control planes share, and of the jobs that this one has run. */
export class JobMetrics {
  readonly source: MetricSource
  readonly #results = new Map<string, { kind: string; result: Result; count: number }>()
  readonly #durations = new Map<string, DurationTally>()

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.source = metricSource(
      {
        berth_jobs_queued: { type: 'gauge', help: 'Queued jobs, including those that are due later.' },
        berth_jobs_running: { type: 'gauge', help: 'Running jobs.' },
        berth_jobs_due: { type: 'gauge', help: 'Queued jobs that are due and wait for a free slot.' },
        berth_jobs_oldest_due_seconds: { type: 'gauge', help: 'How long the oldest due job has been waiting.' },
        berth_job_attempts_total: { type: 'counter', help: 'Attempts at jobs that ended in this process, by result.' },
        berth_job_duration_seconds: { type: 'histogram', help: 'Duration of attempts at jobs that ended in this process.' },
      },
      async () => {
        const now = clock.now().getTime()
        const [queued, running] = [await countQueued(database, now), await countRunning(database)]
        return {
          berth_jobs_queued: queued.map(({ kind, count }) => ({ labels: { kind }, value: count })),
          berth_jobs_due: queued.map(({ kind, due }) => ({ labels: { kind }, value: due })),
          berth_jobs_running: running.map(({ kind, count }) => ({ labels: { kind }, value: count })),
          berth_jobs_oldest_due_seconds: [
            { value: Math.max(0, ...queued.map(({ oldest }) => (oldest === null ? 0 : (now - oldest) / 1000))) },
          ],
          berth_job_attempts_total: [...this.#results.values()].map(({ kind, result, count }) => ({
            labels: { kind, result },
            value: count,
          })),
          berth_job_duration_seconds: [...this.#durations].flatMap(([kind, tally]) => tally.samples({ kind })),
        }
      },
    )
  }

  record(kind: string, result: Result, seconds: number): void {
    const key = `${kind} ${result}`
    const known = this.#results.get(key)
    if (known) known.count++
    else this.#results.set(key, { kind, result, count: 1 })
    const durations = this.#durations.get(kind) ?? new DurationTally(bounds)
    this.#durations.set(kind, durations)
    durations.observe(seconds)
  }
}

interface Queued {
  kind: string
  count: number
  due: number
  oldest: number | null
}

const countQueued = ({ db }: Database, now: number): Promise<Queued[]> =>
  db
    .selectFrom(db.selectFrom('jobs').select(['kind', 'runAt']).where('status', '=', isQueued).limit(maxCounted).as('queued'))
    .select(({ fn }) => [
      'kind',
      fn.countAll<number>().as('count'),
      sql<number>`sum(case when "runAt" <= ${now} then 1 else 0 end)`.as('due'),
      sql<number | null>`min(case when "runAt" <= ${now} then "runAt" end)`.as('oldest'),
    ])
    .groupBy('kind')
    .execute()
    .then((rows) => rows.map((row) => ({ ...row, count: Number(row.count), due: Number(row.due), oldest: row.oldest })))

const countRunning = ({ db }: Database): Promise<{ kind: string; count: number }[]> =>
  db
    .selectFrom('jobs')
    .select(({ fn }) => ['kind', fn.countAll<number>().as('count')])
    .where('status', '=', isRunning)
    .groupBy('kind')
    .execute()
