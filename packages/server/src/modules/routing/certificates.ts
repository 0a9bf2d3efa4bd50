import { OrderRefused } from '../../drivers/acme/acme.ts'
import { findCertificate } from '../../edge-proxy/protocol/find-certificate.ts'
import type { Db } from '../../platform/db/schema.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { CertificateRow } from '../../platform/db/tables/routing.ts'
import { errorMessage } from '../../platform/error-message.ts'
import { JobAborted, type JobOwner, job, sharedKind } from '../../platform/jobs/declare.ts'
import { ownHostnames } from './assigned-hostnames.ts'
import { type CertifiedName, findCertifiedName } from './certified-name.ts'
import { boardFor } from './challenge-boards.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import { beginOrder, endOrder, nextOrderAfterFailure, type OrderDelay } from './order-limits.ts'
import type { EdgeSync } from './sync.ts'
import { openCertificate } from './usable-certificates.ts'

export const certifyKind = sharedKind<{ hostname: string }>('edge.certify')

/** The owner of an order's job; the dashboard and the wildcard belong to no project. */
export const orderOwner = (projectId: string | null | undefined): JobOwner =>
  projectId ? { projectId } : { account: 'instance' }

const day = 86_400_000
const maxRenewalMs = 30 * day
const deadlineMs = 5 * 60_000

/** A certificate is renewed 30 days before it expires, a short-lived one in the last third of its life. */
export const isDue = ({ issuedAt, expiresAt }: Pick<CertificateRow, 'issuedAt' | 'expiresAt'>, now: number): boolean =>
  expiresAt - now <= Math.min(maxRenewalMs, (expiresAt - issuedAt) / 3)

/** Job keys: orders of one host name run one after the other, and a second queued one is dropped. */
export const orderKeys = (hostname: string) => ({
  uniqueKey: `${certifyKind.kind}:${hostname}`,
  groupKey: `${certifyKind.kind}:${hostname}`,
})

/** A separate key, so that an order which runs, waits for its retry or is failing does not suppress this one. */
export const orderAgainKeys = (hostname: string) => {
  const { uniqueKey, groupKey } = orderKeys(hostname)
  return { uniqueKey: `${uniqueKey}:again`, groupKey }
}

/** Gets a certificate for one host name. If the authority refuses, its own message is shown. */
export const certifyJob = (deps: EdgeDeps, edge: EdgeSync) =>
  job<{ hostname: string }, unknown>(certifyKind, {
    deadlineMs,
    maxAttempts: 3,
    concurrency: 2,
    backoff: (attempt) => attempt * 15_000,
    async run({ hostname }, _, abort, { isLastAttempt }) {
      const { db } = deps.database
      const name = await findCertifiedName(db, hostname, deps, edge.state)
      if (!name || deps.settings.edgeTlsPort === null) return
      // An interrupted attempt may have stored a valid certificate.
      if (await hasValidCertificate(hostname, deps)) await name.transition(db, 'active')
      else {
        const isFirstUse = name.isAssigned && name.tls !== 'active' && !ownHostnames(deps).includes(hostname)
        const order = await beginOrder({ hostname, isFirstUse }, deps)
        if (typeof order === 'number') await saveCertificate(name, order, isLastAttempt, deps, edge, abort)
        else await recordDelay(name, order, deps)
      }
      await edge.sync()
    },
  })

async function saveCertificate(
  name: CertifiedName,
  startedAt: number,
  isLastAttempt: boolean,
  deps: EdgeDeps,
  edge: EdgeSync,
  abort: AbortSignal,
): Promise<void> {
  const { hostname } = name
  const { database } = deps
  try {
    await order(hostname, deps, edge, abort)
    await endOrder(hostname, startedAt, 'issued', { database })
    // Another claim of the name may be served by now, of another project too.
    const current = await findCertifiedName(database.db, hostname, deps, edge.state)
    await current?.transition(database.db, 'active')
  } catch (error) {
    const isRefused = error instanceof OrderRefused
    const retryAt = isRefused ? error.retryAt : null
    await endOrder(hostname, startedAt, isRefused ? 'refused' : 'failed', { database, retryAt })
    // An aborted job runs again. Only a deadline counts as a failure of the authority.
    if (error instanceof JobAborted && error.reason !== 'deadline') throw error
    await recordFailure(hostname, messageOf(error), { isFinal: isRefused || isLastAttempt, retryAt }, deps, edge)
    if (!isRefused) throw error
  }
}

/** Records why the order of a name has to wait. The hourly renewal run orders it again. */
async function recordDelay(name: CertifiedName, { until, reason, isRefusal }: OrderDelay, deps: EdgeDeps): Promise<void> {
  const { db } = deps.database
  deps.log.info({ hostname: name.hostname, until: new Date(until) }, 'certificates: order delayed')
  if (name.tls === 'pending' && isRefusal) await name.transition(db, 'error', `No certificate: ${reason}`, until)
  else if (name.tls === 'pending') await name.explain(db, `No certificate yet: ${reason}`)
}

function messageOf(error: unknown): string {
  if (error instanceof JobAborted) return `the certificate authority timed out after ${deadlineMs / 60_000} minutes`
  return errorMessage(error)
}

/** Whether a certificate covers the host name and is not due for renewal. */
async function hasValidCertificate(hostname: string, deps: EdgeDeps): Promise<boolean> {
  const existing = await findInUse(deps.database.db, hostname, deps)
  return existing !== undefined && !isDue(existing, nowOf(deps))
}

/** A certificate that covers the host name, has not expired and is readable. */
async function findInUse(db: Db, hostname: string, deps: EdgeDeps): Promise<CertificateRow | undefined> {
  const rows = await db
    .selectFrom('certificates')
    .selectAll()
    .where('hostname', 'in', [hostname, `*${hostname.slice(hostname.indexOf('.'))}`])
    .where('expiresAt', '>', nowOf(deps))
    .execute()
  const usable = new Map(rows.filter((row) => 'pair' in openCertificate(row, deps.secretBox)).map((row) => [row.hostname, row]))
  return usable.get(findCertificate(usable, hostname) ?? '')
}

async function order(hostname: string, deps: EdgeDeps, edge: EdgeSync, abort: AbortSignal): Promise<void> {
  const { directoryUrl, accountKey } = await acmeAccount(deps)
  const { certificate, privateKey, expiresAt, accountUrl } = await deps.acme.order(
    hostname,
    accountKey,
    boardFor(hostname, deps, edge, abort),
    abort,
  )
  const row = {
    hostname,
    certificate,
    privateKey: deps.secretBox.seal(privateKey, sealedFor.certificateKey(hostname)),
    expiresAt: expiresAt.getTime(),
    issuedAt: nowOf(deps),
    checkedAt: null,
    problem: null,
  }
  // An unusable certificate must not replace a usable one; it would also be ordered again and again.
  const opened = openCertificate(row, deps.secretBox)
  if ('problem' in opened) throw new OrderRefused(opened.problem)
  await deps.database.transaction(async ({ db }) => {
    await db
      .insertInto('certificates')
      .values(row)
      .onConflict((conflict) => conflict.column('hostname').doUpdateSet(row))
      .execute()
    await db.updateTable('acmeAccounts').set({ accountUrl }).where('directoryUrl', '=', directoryUrl).execute()
  })
}

/** The ACME account of the directory, created at the first call. Two concurrent callers both use the account that was stored first. */
async function acmeAccount({ database: { db }, secretBox, acme, settings }: EdgeDeps) {
  const directoryUrl = settings.acmeDirectory
  const sealContext = sealedFor.acmeAccountKey(directoryUrl)
  const find = () => db.selectFrom('acmeAccounts').selectAll().where('directoryUrl', '=', directoryUrl).executeTakeFirst()
  if (!(await find()))
    await db
      .insertInto('acmeAccounts')
      .values({ directoryUrl, privateKey: secretBox.seal(await acme.newAccountKey(), sealContext), accountUrl: null })
      .onConflict((conflict) => conflict.column('directoryUrl').doNothing())
      .execute()
  const row = (await find())!
  return { directoryUrl, accountKey: secretBox.open(row.privateKey, sealContext) }
}

export const notRenewed = 'Not renewed: '

/**
 * Records a failed order. A certificate that is still valid stays in use. A failure is announced once, not at each hourly attempt.
 */
async function recordFailure(
  hostname: string,
  message: string,
  { isFinal, retryAt }: { isFinal: boolean; retryAt: Date | null },
  deps: EdgeDeps,
  edge: EdgeSync,
): Promise<void> {
  await deps.database.transaction(async ({ db, announce }) => {
    const name = await findCertifiedName(db, hostname, deps, edge.state)
    if (!name) return
    if (!isFinal) {
      if (name.tls === 'pending') await name.explain(db, `No certificate yet: ${message}`)
      return
    }
    const inUse = await findInUse(db, hostname, deps)
    const wasAnnounced = inUse
      ? name.reason?.startsWith(notRenewed)
      : name.tls === 'error' || name.reason?.startsWith(noCertificate)
    const nextOrderAt = await nextOrderAfterFailure(db, hostname, retryAt, nowOf(deps))
    if (inUse) await name.transition(db, 'active', notRenewed + message, nextOrderAt)
    else await name.transition(db, 'error', noCertificate + message, nextOrderAt)
    const subject = inUse ? `The certificate of ${hostname} was not renewed` : `No certificate for ${hostname}`
    deps.log.warn({ hostname, reason: message }, 'certificates: order failed')
    if (wasAnnounced || !name.owner) return
    const { organizationId, projectId, title } = name.owner
    await announce('domain.failed', { organizationId, projectId, subject, text: `${title}: ${message}`, data: { hostname } })
  })
}

export const noCertificate = 'No certificate: '
