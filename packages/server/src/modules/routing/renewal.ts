import { type JobKind, job } from '../../platform/jobs/declare.ts'
import { claimedHostnames, judgeAll, transitionTls } from '../projects/index.ts'
import { certifyKind, isDue, orderKeys } from './certificates.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import type { EdgeSync } from './sync.ts'

export const renewKind: JobKind<Record<string, never>> = { kind: 'edge.renew' }

const day = 86_400_000

/** Asks for what is missing or was refused, renews what ends soon, and forgets what no domain wants. Its pace is the pace of the tries. */
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

/** Domains that are served and that nothing was ever asked for, or whose asking was lost with a process that died. */
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

/** One that breaks again so soon is not ordered at once again, but with the next look for what is due. */
const settlesMs = 3_600_000

/** Certificates that cannot be served are ordered anew at once. The broken one stays until then: its key may come back. */
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
    // What an order could not mend is `error`, and comes with the next look for what is due.
    for (const { hostname, projectId, tls } of (await judgeAll(db, deps.settings)).serving)
      if (tls === 'active' && settled.has(hostname))
        await enqueue(certifyKind.of({ projectId }), { hostname }, orderKeys(hostname))
  })
}

/** Somebody says that the reason is gone: each failed order of the project is placed again now, whatever else is waiting. */
export async function askAgain(projectId: string, { database, settings }: EdgeDeps): Promise<void> {
  if (settings.edgeTlsPort === null) return
  await database.transaction(async ({ db, enqueue }) => {
    const { serving } = await judgeAll(db, settings)
    for (const { id, hostname, tls } of serving.filter((domain) => domain.projectId === projectId)) {
      if (tls === 'error') await transitionTls(db, [id], 'pending')
      // A key of its own: the order that is waiting for its next try, or just failing, must not stand for this one.
      const { uniqueKey, groupKey } = orderKeys(hostname)
      await enqueue(certifyKind.of({ projectId }), { hostname }, { uniqueKey: `${uniqueKey}:again`, groupKey })
    }
  })
}
