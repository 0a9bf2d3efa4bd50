import { type JobKind, job } from '../../platform/jobs/declare.ts'
import { claimedHostnames, judgeAll, transitionTls } from '../projects/index.ts'
import { certifyKind, isDue, orderKeys } from './certificates.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import type { EdgeSync } from './sync.ts'

export const renewKind: JobKind<Record<string, never>> = { kind: 'edge.renew' }

const day = 86_400_000

/**
 * Orders missing and failed certificates, renews those that expire soon, and deletes those without a domain. Its interval is also
 * the retry interval.
 */
export const renewJob = (deps: EdgeDeps, edge: EdgeSync) =>
  job<Record<string, never>, unknown>(renewKind.kind, {
    deadlineMs: 5 * 60_000,
    maxAttempts: 1,
    async run() {
      if (deps.settings.edgeTlsPort === null) return
      const now = nowOf(deps)
      await deps.database.transaction(async ({ db, enqueue }) => {
        const dates = await db.selectFrom('certificates').select(['hostname', 'issuedAt', 'expiresAt']).execute()
        const certificates = new Map(dates.map((row) => [row.hostname, row]))
        for (const { hostname, projectId, tls } of (await judgeAll(db, deps.settings)).serving) {
          const known = certificates.get(hostname)
          if (!known || isDue(known, now) || tls !== 'active')
            await enqueue(certifyKind.of({ projectId }), { hostname }, orderKeys(hostname))
        }
        await db
          .deleteFrom('acmeChallenges')
          .where('createdAt', '<', now - day)
          .execute()
        await db.deleteFrom('certificates').where('hostname', 'not in', claimedHostnames(db)).execute()
      })
      await replaceUnusable(edge.state.uncertified, deps)
    },
  })

/** Orders certificates for served domains that have none requested yet, or whose order was lost when a process died. */
export async function askForNew({ database, settings }: EdgeDeps): Promise<void> {
  if (settings.edgeTlsPort === null) return
  const { serving } = await judgeAll(database.db, settings)
  const wanting = serving.filter(({ tls }) => tls === 'none' || tls === 'pending')
  if (wanting.length === 0) return
  await database.transaction(async ({ db, enqueue }) => {
    for (const { id, hostname, projectId, tls, reason } of wanting) {
      if (tls === 'none') await transitionTls(db, [id], 'pending', reason)
      await enqueue(certifyKind.of({ projectId }), { hostname }, orderKeys(hostname))
    }
  })
}

/** A certificate that becomes unusable sooner than this after its issue is not replaced at once, but by the next renewal run. */
const settlesMs = 3_600_000

/** Orders unusable certificates again at once. The broken one stays until then, as its key may become readable again. */
export async function replaceUnusable(unusable: ReadonlyMap<string, string>, deps: EdgeDeps): Promise<void> {
  if (deps.settings.edgeTlsPort === null || unusable.size === 0) return
  await deps.database.transaction(async ({ db, enqueue }) => {
    const old = await db
      .selectFrom('certificates')
      .select('hostname')
      .where('issuedAt', '<=', nowOf(deps) - settlesMs)
      .execute()
    const settled = new Set(old.map(({ hostname }) => hostname).filter((hostname) => unusable.has(hostname)))
    if (settled.size === 0) return
    // Domains in `error` are left to the next renewal run.
    for (const { hostname, projectId, tls } of (await judgeAll(db, deps.settings)).serving)
      if (tls === 'active' && settled.has(hostname))
        await enqueue(certifyKind.of({ projectId }), { hostname }, orderKeys(hostname))
  })
}

/** Repeats the project's failed orders now, because a user reports that the cause is fixed. */
export async function askAgain(projectId: string, { database, settings }: EdgeDeps): Promise<void> {
  if (settings.edgeTlsPort === null) return
  await database.transaction(async ({ db, enqueue }) => {
    const { serving } = await judgeAll(db, settings)
    for (const { id, hostname, tls } of serving.filter((domain) => domain.projectId === projectId)) {
      if (tls === 'error') await transitionTls(db, [id], 'pending')
      // A separate key, so that an order which waits for its retry, or is failing, does not suppress this one.
      const { uniqueKey, groupKey } = orderKeys(hostname)
      await enqueue(certifyKind.of({ projectId }), { hostname }, { uniqueKey: `${uniqueKey}:again`, groupKey })
    }
  })
}
