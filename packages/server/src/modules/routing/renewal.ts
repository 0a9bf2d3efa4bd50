import { findCertificate } from '../../edge-proxy/protocol/find-certificate.ts'
import type { Db } from '../../platform/db/schema.ts'
import { type JobKind, job } from '../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import { claimedHostnames, transitionTls, verifyAllDomains } from '../projects/index.ts'
import { findAssigned, isAssigned, ownHostnames, requestAssigned, wildcardHostname } from './assigned-hostnames.ts'
import { certifyKind, isDue, orderAgainKeys, orderKeys, orderOwner } from './certificates.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import { coverageOf, type EdgeState } from './edge-state.ts'
import { forgetOldOrders } from './order-limits.ts'
import type { EdgeSync } from './sync.ts'

export const renewKind: JobKind<Record<string, never>> = { kind: 'edge.renew' }

const day = 86_400_000

/**
 * Orders missing and failed certificates, renews those that expire soon, and deletes those whose host name is no longer claimed.
 * Its interval is also the retry interval.
 */
export const renewJob = (deps: EdgeDeps, edge: EdgeSync) =>
  job<Record<string, never>, unknown>(renewKind.kind, {
    deadlineMs: 5 * 60_000,
    maxAttempts: 1,
    async run() {
      if (deps.settings.edgeTlsPort === null) return
      const now = nowOf(deps)
      await deps.database.transaction(async (transaction) => {
        const { db, enqueue } = transaction
        const dates = await db.selectFrom('certificates').select(['hostname', 'issuedAt', 'expiresAt']).execute()
        const certificates = new Map(dates.map((row) => [row.hostname, row]))
        const needsOrder = (hostname: string, tls: string) => {
          const known = certificates.get(hostname)
          return !known || isDue(known, now) || tls !== 'active'
        }
        for (const { hostname, projectId, tls } of (await verifyAllDomains(db, deps.settings)).serving)
          if (needsOrder(hostname, tls)) await enqueue(certifyKind.of({ projectId }), { hostname }, orderKeys(hostname))
        await renewAssigned(transaction, edge.state, needsOrder, deps)
        await db
          .deleteFrom('acmeChallenges')
          .where('createdAt', '<', now - day)
          .execute()
        await db
          .deleteFrom('certificates')
          .where('hostname', 'not in', claimedHostnames(db))
          .where('hostname', 'not in', db.selectFrom('assignedHostnames').select('assignedHostnames.hostname'))
          .execute()
        await forgetOldOrders(db, now)
      })
      await replaceUnusable(edge.state.uncertified, deps)
    },
  })

/** Renews certificates of assigned names, and forgets names that are no longer served. */
async function renewAssigned(
  { db, enqueue }: TransactionContext,
  state: EdgeState,
  needsOrder: (hostname: string, tls: string) => boolean,
  deps: EdgeDeps,
): Promise<void> {
  const instanceNames = ownHostnames(deps)
  // After a failed sync, the names that the edge serves are unknown.
  const isEdgeStateKnown = state.problem === null
  for (const { hostname, tls, nextOrderAt } of await db.selectFrom('assignedHostnames').selectAll().execute()) {
    const isServed = instanceNames.includes(hostname) || (state.hostnames.has(hostname) && isAssigned(hostname, deps))
    if (!isServed || coverageOf(state, hostname) === 'wildcard') {
      if (isEdgeStateKnown) await db.deleteFrom('assignedHostnames').where('hostname', '=', hostname).execute()
    } else if (needsOrder(hostname, tls) && (nextOrderAt ?? 0) <= nowOf(deps))
      await enqueue(certifyKind.of(orderOwner(state.hostnames.get(hostname))), { hostname }, orderKeys(hostname))
  }
}

/** Orders certificates for served domains that have none requested yet, or whose order was lost when a process died. */
export async function requestNew({ database, settings }: EdgeDeps): Promise<void> {
  if (settings.edgeTlsPort === null) return
  const { serving } = await verifyAllDomains(database.db, settings)
  const missing = serving.filter(({ tls }) => tls === 'none' || tls === 'pending')
  if (missing.length === 0) return
  await database.transaction(async ({ db, enqueue }) => {
    for (const { id, hostname, projectId, tls, reason, createdAt } of missing) {
      if (tls === 'none') await transitionTls(db, [id], 'pending', reason)
      const order = await enqueue(certifyKind.of({ projectId }), { hostname }, orderKeys(hostname))
      // The running order was requested for an older claim of the same name, which was removed meanwhile.
      if (order.isRunning && order.createdAt < createdAt)
        await enqueue(certifyKind.of({ projectId }), { hostname }, orderAgainKeys(hostname))
    }
  })
}

/** Orders the certificates of the dashboard and the wildcard, unless they exist or failed a short time ago. */
export async function orderOwn(deps: EdgeDeps): Promise<void> {
  const names = ownHostnames(deps)
  if (names.length === 0) return
  await deps.database.transaction(async ({ db, enqueue }) => {
    for (const hostname of names)
      if (await isOrderable(db, hostname, deps)) {
        await requestAssigned(db, hostname, nowOf(deps))
        await enqueue(certifyKind.of(orderOwner(null)), { hostname }, orderKeys(hostname))
      }
  })
}

async function isOrderable(db: Db, hostname: string, deps: EdgeDeps): Promise<boolean> {
  const known = await findAssigned(db, hostname)
  return known?.tls !== 'active' && (known?.nextOrderAt ?? 0) <= nowOf(deps)
}

/** Orders the certificate of a host that was used without one. */
export async function orderOnFirstUse(hostname: string, deps: EdgeDeps, state: EdgeState): Promise<void> {
  const isServed = state.hostnames.has(hostname)
  if (deps.settings.edgeTlsPort === null || !isServed || !isAssigned(hostname, deps) || coverageOf(state, hostname)) return
  await deps.database.transaction(async ({ db, enqueue }) => {
    const known = await findAssigned(db, hostname)
    if ((known?.nextOrderAt ?? 0) > nowOf(deps) || (await isWildcardPending(db, hostname, deps))) return
    await requestAssigned(db, hostname, nowOf(deps))
    await enqueue(certifyKind.of(orderOwner(state.hostnames.get(hostname))), { hostname }, orderKeys(hostname))
  })
}

/** Whether a wildcard certificate that covers the host name is ordered: its TLS handshakes wait for that order, until it fails. */
async function isWildcardPending(db: Db, hostname: string, deps: EdgeDeps): Promise<boolean> {
  const wildcard = wildcardHostname(deps)
  if (wildcard === null || findCertificate(new Set([wildcard]), hostname) !== wildcard) return false
  return (await findAssigned(db, wildcard))?.tls === 'pending'
}

/** A certificate that is younger than this is replaced by the next renewal run and not at once, so that orders cannot loop. */
const minAgeMs = 3_600_000

/** Orders unusable certificates again at once. The broken one stays until then, as its key may become readable again. */
export async function replaceUnusable(unusable: ReadonlyMap<string, string>, deps: EdgeDeps): Promise<void> {
  if (deps.settings.edgeTlsPort === null || unusable.size === 0) return
  await deps.database.transaction(async ({ db, enqueue }) => {
    const oldRows = await db
      .selectFrom('certificates')
      .select('hostname')
      .where('issuedAt', '<=', nowOf(deps) - minAgeMs)
      .execute()
    const settled = new Set(oldRows.map(({ hostname }) => hostname).filter((hostname) => unusable.has(hostname)))
    if (settled.size === 0) return
    // Domains in `error` are left to the next renewal run.
    for (const { hostname, projectId, tls } of (await verifyAllDomains(db, deps.settings)).serving)
      if (tls === 'active' && settled.has(hostname))
        await enqueue(certifyKind.of({ projectId }), { hostname }, orderKeys(hostname))
    for (const hostname of ownHostnames(deps).filter((name) => settled.has(name)))
      await enqueue(certifyKind.of(orderOwner(null)), { hostname }, orderKeys(hostname))
  })
}

/**
 * Orders the certificates of the project's served domains now, also those that are active, and the missing ones of its assigned
 * names: a user reports that the cause of a failure is fixed.
 */
export async function retry(projectId: string, { hostnames }: EdgeState, deps: EdgeDeps): Promise<void> {
  const { database, settings } = deps
  if (settings.edgeTlsPort === null) return
  await database.transaction(async ({ db, enqueue }) => {
    const enqueueAgain = (hostname: string) => enqueue(certifyKind.of({ projectId }), { hostname }, orderAgainKeys(hostname))
    const { serving } = await verifyAllDomains(db, settings)
    for (const { id, hostname, tls } of serving.filter((domain) => domain.projectId === projectId)) {
      if (tls === 'error') await transitionTls(db, [id], 'pending')
      await enqueueAgain(hostname)
    }
    for (const { hostname, tls } of await db.selectFrom('assignedHostnames').selectAll().execute())
      if (tls !== 'active' && hostnames.get(hostname) === projectId) {
        await requestAssigned(db, hostname, nowOf(deps))
        await enqueueAgain(hostname)
      }
  })
}
