import type { Millis } from '../db/columns.ts'

/** Names a kind of work and the payload that it takes; enough to enqueue it. */
export interface JobKind<Payload> {
  readonly kind: string
  /** Never there: it carries the payload's type. */
  readonly payload?: Payload
  readonly owner?: JobOwner
  readonly of?: undefined
}

/** Whose slots a job uses: an organisation, a project's organisation, or an account elsewhere whose organisation is not known yet. */
export type JobOwner = { organizationId: string } | { projectId: string } | { account: string }

/** A kind whose slots organisations share: a job of it is enqueued as `kind.of(owner)`. */
export interface SharedKind<Payload> {
  readonly kind: string
  readonly payload?: Payload
  of(owner: JobOwner): JobKind<Payload>
}

export const sharedKind = <Payload>(kind: string): SharedKind<Payload> => ({ kind, of: (owner) => ({ kind, owner }) })

export interface RunInfo {
  jobId: string
  /** Counts from 1. */
  attempt: number
  isLastAttempt: boolean
  /** The schedule's time, where a schedule started it. */
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
  /** After this an attempt is aborted and counts as failed. */
  deadlineMs: number
  /** Attempts in all; an attempt whose process died counts. Default 5. */
  maxAttempts?: number
  /**
   * Slots: how many of this kind run at once in one control plane. Default 1, and 2 where organisations share them: one of
   * several organisations never holds all of them (`shares.ts`).
   */
  concurrency?: number
  /** The pause before attempt `attempt + 1`. Default: 1 s, doubling up to 5 min, with jitter. */
  backoff?: (attempt: number) => number
  /** May run twice; must end soon after `abort` fires. */
  run(payload: Payload, deps: Deps, abort: AbortSignal, info: RunInfo): Promise<void>
  /** The attempts are used up: end what the job stood for. Called until it succeeds once, across crashes; may run twice. */
  onFailed?(payload: Payload, error: JobFailure, deps: Deps): Promise<void>
  /** A schedule's times passed while nobody was there. Without this the job runs once for all of them. May run twice. */
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
  /** Organisations share its slots. */
  readonly isShared: boolean
  backoff(attempt: number): Millis
  run(payload: Payload, deps: Deps, abort: AbortSignal, info: RunInfo): Promise<void>
  onFailed?(payload: Payload, error: JobFailure, deps: Deps): Promise<void>
  onMissed?(payload: Payload, missed: Date[], deps: Deps): Promise<void>
}

/** Declares durable work. The payload is ids, kept as JSON; `run` loads the rest anew. */
export function job<Payload, Deps>(kind: string | SharedKind<Payload>, options: JobOptions<Payload, Deps>): Job<Payload, Deps> {
  const isShared = typeof kind !== 'string'
  const name = isShared ? kind.kind : kind
  return { maxAttempts: 5, concurrency: isShared ? 2 : 1, backoff: growingPause, ...options, isShared, kind: name }
}

const firstPauseMs = 1_000
const longestPauseMs = 300_000

/** Half of it is chance, so that jobs that failed together do not come back together. */
export function growingPause(attempt: number): Millis {
  const full = Math.min(firstPauseMs * 2 ** (attempt - 1), longestPauseMs)
  return Math.round(full * (0.5 + Math.random() / 2))
}
