import { type JobKind, job } from '../../platform/jobs/declare.ts'
import { claimedHostnames, judgeAll, transitionTls } from '../projects/index.ts'
import { certifyKind, isDue, orderKeys } from './certificates.ts'
import { type EdgeDeps, nowOf } from './deps.ts'

export const renewKind: JobKind<Record<string, never>> = { kind: 'edge.renew' }

const day = 86_400_000

/** Asks for what is missing or was refused, renews what ends soon, and forgets what no domain wants. Its pace is the pace of the tries. */
export const renewJob = (deps: EdgeDeps) =>
  job<Record<string, never>, unknown>(renewKind.kind, {
    deadlineMs: 5 * 60_000,
    maxAttempts: 1,
    async run() {
      if (deps.settings.edgeTlsPort === null) return
      const now = nowOf(deps)
      await deps.database.transaction(async ({ db, enqueue }) => {
        const dates = await db.selectFrom('certificates').select(['hostname', 'issuedAt', 'expiresAt']).execute()
        const certificates = new Map(dates.map((row) => [row.hostname, row]))
        for (const { hostname, tls } of (await judgeAll(db, deps.settings)).serving) {
          const known = certificates.get(hostname)
          if (!known || isDue(known, now) || tls !== 'active') await enqueue(certifyKind, { hostname }, orderKeys(hostname))
        }
        await db
          .deleteFrom('acmeChallenges')
          .where('createdAt', '<', now - day)
          .execute()
        await db.deleteFrom('certificates').where('hostname', 'not in', claimedHostnames(db)).execute()
      })
    },
  })

/** Domains that are served and that nothing was ever asked for, or whose asking was lost with a process that died. */
export async function askForNew({ database, settings }: EdgeDeps): Promise<void> {
  if (settings.edgeTlsPort === null) return
  const { serving } = await judgeAll(database.db, settings)
  const wanting = serving.filter(({ tls }) => tls === 'none' || tls === 'pending')
  if (wanting.length === 0) return
  await database.transaction(async ({ db, enqueue }) => {
    for (const { id, hostname, tls, reason } of wanting) {
      if (tls === 'none') await transitionTls(db, [id], 'pending', reason)
      await enqueue(certifyKind, { hostname }, orderKeys(hostname))
    }
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
      await enqueue(certifyKind, { hostname }, { uniqueKey: `${uniqueKey}:again`, groupKey })
    }
  })
}
