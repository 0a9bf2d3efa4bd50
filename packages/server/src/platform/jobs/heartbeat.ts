import type { Attempt, AttemptParts } from './attempt.ts'
import { renewLeases } from './lease.ts'

/** Extends the leases of all that runs here, and aborts what has lost its lease or is to be cancelled. Never throws. */
export async function beat<Deps>(
  parts: AttemptParts<Deps> & { leaseMs: number },
  attempts: ReadonlyMap<string, Attempt<Deps>>,
): Promise<void> {
  const beating = [...attempts]
  if (beating.length === 0) return
  const sentAt = performance.now()
  try {
    const standing = await renewLeases(parts.database, [...attempts.keys()], parts.leaseMs)
    const byToken = new Map(standing.map((row) => [row.leaseToken, row]))
    for (const [token, attempt] of beating) {
      const row = byToken.get(token)
      if (row) attempt.confirmedAt = sentAt
      if (row?.cancelRequested) attempt.abort('cancelled')
      // One that has ended meanwhile holds no lease any more, and is not among the attempts either.
      if (!row && attempts.has(token)) attempt.abort('lease_lost')
    }
  } catch (error) {
    parts.log.warn({ err: error }, 'jobs: lease renewal failed')
    // Nobody else can take a job from the one process that owns a SQLite folder.
    if (parts.database.kind === 'postgres') abortUnconfirmed(attempts, parts.leaseMs)
  }
}

function abortUnconfirmed<Deps>(attempts: ReadonlyMap<string, Attempt<Deps>>, leaseMs: number): void {
  const since = performance.now() - leaseMs
  for (const attempt of attempts.values()) if (attempt.confirmedAt < since) attempt.abort('lease_lost')
}
