import { sql } from 'kysely'
import type { JobStatus } from '../db/tables/jobs.ts'

/**
 * Literals, not bound parameters: SQLite uses a partial index only if the statement contains the condition of the index. With a
 * parameter it would scan all jobs.
 */
export const isQueued = sql.lit<JobStatus>('queued')
export const isRunning = sql.lit<JobStatus>('running')
export const isActive = sql<JobStatus>`('queued', 'running')`
