import { sql } from 'kysely'
import type { JobStatus } from '../db/tables/jobs.ts'

/**
 * Written into the statement, not bound to it: SQLite uses a partial index only where it sees that the condition is the
 * index's own, and would else look through every job that ever ran.
 */
export const isQueued = sql.lit<JobStatus>('queued')
export const isRunning = sql.lit<JobStatus>('running')
export const isActive = sql<JobStatus>`('queued', 'running')`
