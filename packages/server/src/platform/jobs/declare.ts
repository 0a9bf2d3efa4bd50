import type { Millis } from '../db/columns.ts'

/** The name of a kind of job and the type of its payload; enough to enqueue it. */
export interface JobKind<Payload> {
  readonly kind: string
  /** Never set: it carries the payload's type. */
  readonly payload?: Payload
  readonly owner?: JobOwner
  /** Never set: so the compiler refuses a `SharedKind` without its owner. */
  readonly of?: undefined
}

/**
 * The owner whose slots a job uses: an organisation, a project's organisation, or an external account whose organisation is not
 * known yet.
 */
export type JobOwner = { organizationId: string } | { projectId: string } | { account: string }

/** A kind whose slots are shared between organisations: its jobs are enqueued as `kind.of(owner)`. */
export interface SharedKind<Payload> {
  readonly kind: string
  readonly payload?: Payload
  of(owner: JobOwner): JobKind<Payload>
}

export const sharedKind = <Payload>(kind: string): SharedKind<Payload> => ({ kind, of: (owner) => ({ kind, owner }) })

export interface RunInfo {
  jobId: string
  /** Counted from 1. */
  attempt: number
  isLastAttempt: boolean
  /** The scheduled time, if a schedule started the job. */
  scheduledFor: Date | null
}

export type AbortReason = 'shutdown' | 'cancelled' | 'deadline' | 'lease_lost'

/** `abort.reason` of every aborted run. */
export class JobAborted extends Error {
  override readonly name = 'JobAborted'
  readonly reason: AbortReason
  constructor(reason: AbortReason) {
    super(`the job was aborted: ${reason}`)
    this.reason = reason
  }
}

export interface JobOptions<Payload, Deps> {
  /** Time limit of an attempt; afterwards it is aborted and counts as failed. */
  deadlineMs: number
  /** Maximum number of attempts; an attempt whose process died counts. Default 5. */
  maxAttempts?: number
  /**
   * Slots: how many jobs of this kind run at once in one control plane. Default 1, or 2 for a kind shared between organisations:
   * with several organisations, one of them never holds all slots (`shares.ts`).
   */
  concurrency?: number
  /** The pause before attempt `attempt + 1`. Default: 1 s, doubling up to 5 min, with jitter. */
  backoff?: (attempt: number) => number
  /** May run twice; must end soon after `abort` fires. */
  run(payload: Payload, deps: Deps, abort: AbortSignal, info: RunInfo): Promise<void>
  /**
   * Called after the last attempt, to mark the job's subject as failed. Retried until it succeeds once, across crashes; may run
   * twice.
   */
  onFailed?(payload: Payload, error: JobFailure, deps: Deps): Promise<void>
  /**
   * Receives the times of a schedule that passed while no control plane was running. Without it the job runs once for all of them.
   * May run twice.
   */
  onMissed?(payload: Payload, missed: Date[], deps: Deps): Promise<void>
}

export interface JobFailure {
  message: string
  attempts: number
}

export interface Job<Payload, Deps> extends JobKind<Payload> {
  readonly deadlineMs: number
  readonly maxAttempts: number
  readonly concurrency: number
  /** True if organisations share its slots. */
  readonly isShared: boolean
  backoff(attempt: number): Millis
  run(payload: Payload, deps: Deps, abort: AbortSignal, info: RunInfo): Promise<void>
  onFailed?(payload: Payload, error: JobFailure, deps: Deps): Promise<void>
  onMissed?(payload: Payload, missed: Date[], deps: Deps): Promise<void>
}

/** Declares a durable job. The payload holds ids, stored as JSON; `run` loads everything else. */
export function job<Payload, Deps>(kind: string | SharedKind<Payload>, options: JobOptions<Payload, Deps>): Job<Payload, Deps> {
  const isShared = typeof kind !== 'string'
  const name = isShared ? kind.kind : kind
  return { maxAttempts: 5, concurrency: isShared ? 2 : 1, backoff: growingPause, ...options, isShared, kind: name }
}

const firstPauseMs = 1_000
const maxPauseMs = 300_000

/** Half of the pause is random, so that jobs that failed together are not retried together. */
export function growingPause(attempt: number): Millis {
  const full = Math.min(firstPauseMs * 2 ** (attempt - 1), maxPauseMs)
  return Math.round(full * (0.5 + Math.random() / 2))
}
