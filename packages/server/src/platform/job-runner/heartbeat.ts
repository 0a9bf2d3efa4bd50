import type { Attempt, AttemptParts } from './attempt.ts'
import { renewLeases } from './lease.ts'

/**
 * Extends the leases of all attempts of this process, and aborts those that lost their lease or are to be cancelled. Never throws.
 */
export async function renewAttempts<Deps>(
  parts: AttemptParts<Deps> & { leaseMs: number },
  attempts: ReadonlyMap<string, Attempt<Deps>>,
): Promise<void> {
  const renewing = [...attempts]
  if (renewing.length === 0) return
  const sentAt = performance.now()
  try {
    const renewed = await renewLeases(parts.database, [...attempts.keys()], parts.leaseMs)
    const byToken = new Map(renewed.map((row) => [row.leaseToken, row]))
    for (const [token, attempt] of renewing) {
      const row = byToken.get(token)
      if (row) attempt.confirmedAt = sentAt
      if (row?.cancelRequested) attempt.abort('cancelled')
      // An attempt that has ended meanwhile holds no lease, and is no longer among the attempts.
      if (!row && attempts.has(token)) attempt.abort('lease_lost')
    }
  } catch (error) {
    parts.log.warn({ err: error }, 'jobs: lease renewal failed')
    // On SQLite a single process owns the data folder, so no other process can take the job.
    if (parts.database.kind === 'postgres') abortUnconfirmed(attempts, parts.leaseMs)
  }
}

function abortUnconfirmed<Deps>(attempts: ReadonlyMap<string, Attempt<Deps>>, leaseMs: number): void {
  const since = performance.now() - leaseMs
  for (const attempt of attempts.values()) if (attempt.confirmedAt < since) attempt.abort('lease_lost')
}
