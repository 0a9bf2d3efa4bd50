import { X509Certificate } from 'node:crypto'
import type { ServedCertificate } from '../../drivers/tls-probe/tls-probe.ts'
import type { EdgeAddress } from '../../edge-proxy/protocol/edge-listening.ts'
import { findCertificate } from '../../edge-proxy/protocol/find-certificate.ts'
import type { CertificateRow } from '../../platform/db/tables/routing.ts'
import { errorMessage } from '../../platform/error-message.ts'
import { type JobKind, job } from '../../platform/jobs/declare.ts'
import { findCertifiedName } from './certified-name.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import type { EdgeState } from './edge-state.ts'
import type { EdgeSync } from './sync.ts'

export const watchKind: JobKind<Record<string, never>> = { kind: 'edge.watch' }

const letsEncrypt = /^https:\/\/acme-v02\.api\.letsencrypt\.org\//
const maxConcurrent = 4

/**
 * Connects to the edge for every certificate in use, as a browser would, and compares the certificate that is served with the
 * stored one. A problem is shown with the host name and announced once.
 */
export const watchJob = (deps: EdgeDeps, edge: EdgeSync, address: () => EdgeAddress | null) =>
  job<Record<string, never>, unknown>(watchKind.kind, {
    deadlineMs: 30 * 60_000,
    maxAttempts: 1,
    async run(_, __, abort) {
      const at = address()
      if (!at) return
      const rows = await deps.database.db.selectFrom('certificates').selectAll().where('expiresAt', '>', nowOf(deps)).execute()
      const watched = rows.flatMap((row) => {
        const hostname = hostnameUnder(row.hostname, edge.state)
        return hostname === undefined ? [] : [{ row, hostname }]
      })
      let isChanged = false
      const next = watched.values()
      const work = async () => {
        for (const { row, hostname } of next) {
          abort.throwIfAborted()
          isChanged = (await check(row, hostname, at, deps, edge, abort)) || isChanged
        }
      }
      await Promise.all(Array.from({ length: maxConcurrent }, work))
      if (isChanged) await edge.sync()
    },
  })

/** A served host name that uses the certificate; undefined if none does. */
function hostnameUnder(certificate: string, { hostnames, uncertified }: EdgeState): string | undefined {
  if (uncertified.has(certificate)) return undefined
  if (!certificate.startsWith('*.')) return hostnames.has(certificate) ? certificate : undefined
  const only = new Set([certificate])
  return (
    [...hostnames.keys()].find((hostname) => findCertificate(only, hostname) !== undefined) ??
    `berth-check${certificate.slice(1)}`
  )
}

/** True if the problem of the certificate changed. */
async function check(
  row: CertificateRow,
  hostname: string,
  at: EdgeAddress,
  deps: EdgeDeps,
  edge: EdgeSync,
  abort: AbortSignal,
): Promise<boolean> {
  const poll = async () => problemOf(row, hostname, at, deps, abort)
  let problem = await poll()
  if (problem !== null) {
    // The edge may be behind: it gets the table once more before the problem counts.
    await edge.sync().catch(() => undefined)
    problem = await poll()
  }
  await deps.database.transaction(async ({ db, announce }) => {
    const { numUpdatedRows } = await db
      .updateTable('certificates')
      .set({ checkedAt: nowOf(deps), problem })
      .where('hostname', '=', row.hostname)
      .where('issuedAt', '=', row.issuedAt)
      .executeTakeFirst()
    if (problem === null || row.problem !== null || numUpdatedRows === 0n) return
    deps.log.warn({ hostname, problem }, 'certificates: served certificate has a problem')
    const owner = (await findCertifiedName(db, row.hostname, deps, edge.state))?.owner
    if (!owner) return
    const { organizationId, projectId, title } = owner
    const subject = `The certificate of ${hostname} has a problem`
    await announce('domain.failed', { organizationId, projectId, subject, text: `${title}: ${problem}`, data: { hostname } })
  })
  return problem !== row.problem
}

async function problemOf(
  row: CertificateRow,
  hostname: string,
  at: EdgeAddress,
  { tlsProbe, settings, ...deps }: EdgeDeps,
  abort: AbortSignal,
): Promise<string | null> {
  let served: ServedCertificate
  try {
    served = await tlsProbe(at, hostname, abort)
  } catch (error) {
    abort.throwIfAborted()
    return `https does not answer at the edge: ${errorMessage(error)}`
  }
  const { fingerprint256, expiresAt, chainProblem, trustProblem } = served
  if (fingerprint256 !== new X509Certificate(row.certificate).fingerprint256) return 'The edge serves another certificate'
  if (expiresAt.getTime() <= nowOf(deps)) return `The certificate expired at ${expiresAt.toISOString()}`
  if (chainProblem) return `Browsers may reject the certificate: ${chainProblem}`
  // A private authority is often unknown to this machine, and its clients know it.
  if (trustProblem && letsEncrypt.test(settings.acmeDirectory)) return `The certificate is not trusted: ${trustProblem}`
  return null
}
