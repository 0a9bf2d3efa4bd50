import { OrderRefused } from '../../drivers/acme/acme.ts'
import type { Db } from '../../platform/db/schema.ts'
import { sealedFor } from '../../platform/db/sealed-columns.ts'
import type { CertificateRow } from '../../platform/db/tables/routing.ts'
import { errorMessage } from '../../platform/error-message.ts'
import { JobAborted, job, sharedKind } from '../../platform/jobs/declare.ts'
import { explainTls, findAnyProject, servingAt, transitionTls } from '../projects/index.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import type { EdgeSync } from './sync.ts'
import { openCertificate } from './usable-certificates.ts'

export const certifyKind = sharedKind<{ hostname: string }>('edge.certify')

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

/** Gets a certificate for one domain. If the authority refuses, its own message is shown. */
export const certifyJob = (deps: EdgeDeps, edge: EdgeSync) =>
  job<{ hostname: string }, unknown>(certifyKind, {
    deadlineMs,
    maxAttempts: 3,
    concurrency: 2,
    backoff: (attempt) => attempt * 15_000,
    async run({ hostname }, _, abort, { isLastAttempt }) {
      const { db } = deps.database
      const domain = await servingAt(db, hostname, deps.settings)
      if (!domain || deps.settings.edgeTlsPort === null) return
      try {
        // An interrupted attempt may have stored a valid certificate.
        if (!(await findGood(hostname, deps))) await order(hostname, deps, edge, abort)
        await transitionTls(db, [domain.id], 'active')
      } catch (error) {
        // An aborted job runs again. Only a deadline counts as a failure of the authority.
        if (error instanceof JobAborted && error.reason !== 'deadline') throw error
        const isFinal = error instanceof OrderRefused || isLastAttempt
        await keepFailure(hostname, messageOf(error), isFinal, deps)
        if (!(error instanceof OrderRefused)) throw error
      }
      await edge.sync()
    },
  })

function messageOf(error: unknown): string {
  if (error instanceof JobAborted) return `the certificate authority timed out after ${deadlineMs / 60_000} minutes`
  return errorMessage(error)
}

async function findGood(hostname: string, deps: EdgeDeps): Promise<boolean> {
  const known = await findInUse(deps.database.db, hostname, deps)
  return known !== undefined && !isDue(known, nowOf(deps))
}

/** A certificate that has not expired and is readable. */
async function findInUse(db: Db, hostname: string, deps: EdgeDeps): Promise<CertificateRow | undefined> {
  const known = await db
    .selectFrom('certificates')
    .selectAll()
    .where('hostname', '=', hostname)
    .where('expiresAt', '>', nowOf(deps))
    .executeTakeFirst()
  return known && 'pair' in openCertificate(known, deps.secretBox) ? known : undefined
}

async function order(hostname: string, deps: EdgeDeps, edge: EdgeSync, abort: AbortSignal): Promise<void> {
  const { directoryUrl, accountKey } = await ourAccount(deps)
  const { certificate, privateKey, expiresAt, accountUrl } = await deps.acme.order(
    hostname,
    accountKey,
    challengeBoard(deps, edge),
    abort,
  )
  const row = {
    hostname,
    certificate,
    privateKey: deps.secretBox.seal(privateKey, sealedFor.certificateKey(hostname)),
    expiresAt: expiresAt.getTime(),
    issuedAt: nowOf(deps),
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

const challengeBoard = ({ database: { db }, ...deps }: EdgeDeps, edge: EdgeSync) => ({
  async show(token: string, keyAuthorization: string) {
    const row = { token, keyAuthorization, createdAt: nowOf(deps) }
    await db
      .insertInto('acmeChallenges')
      .values(row)
      .onConflict((conflict) => conflict.column('token').doUpdateSet(row))
      .execute()
    await edge.sync()
  },
  async hide(token: string) {
    await db.deleteFrom('acmeChallenges').where('token', '=', token).execute()
  },
})

/** The ACME account of a directory, created once; of two concurrent callers, both use the first one's. */
async function ourAccount({ database: { db }, secretBox, acme, settings }: EdgeDeps) {
  const directoryUrl = settings.acmeDirectory
  const place = sealedFor.acmeAccountKey(directoryUrl)
  const find = () => db.selectFrom('acmeAccounts').selectAll().where('directoryUrl', '=', directoryUrl).executeTakeFirst()
  if (!(await find()))
    await db
      .insertInto('acmeAccounts')
      .values({ directoryUrl, privateKey: secretBox.seal(await acme.newAccountKey(), place), accountUrl: null })
      .onConflict((conflict) => conflict.column('directoryUrl').doNothing())
      .execute()
  const row = (await find())!
  return { directoryUrl, accountKey: secretBox.open(row.privateKey, place) }
}

const notRenewed = 'Not renewed: '

/**
 * Records a failed order. A certificate that is still valid stays in use. A failure is announced once, not at each hourly attempt.
 */
async function keepFailure(hostname: string, words: string, isFinal: boolean, deps: EdgeDeps): Promise<void> {
  const { database, settings } = deps
  await database.transaction(async ({ db, announce }) => {
    const domain = await servingAt(db, hostname, settings)
    if (!domain) return
    if (!isFinal) {
      if (domain.tls === 'pending') await explainTls(db, domain.id, `No certificate yet: ${words}`)
      return
    }
    const inUse = await findInUse(db, hostname, deps)
    const wasTold = inUse ? domain.reason?.startsWith(notRenewed) : domain.tls === 'error'
    if (inUse) await transitionTls(db, [domain.id], 'active', notRenewed + words)
    else await transitionTls(db, [domain.id], 'error', `No certificate: ${words}`)
    if (wasTold) return
    const project = await findAnyProject(db, domain.projectId)
    const subject = inUse ? `The certificate of ${hostname} was not renewed` : `No certificate for ${hostname}`
    const { organizationId, projectId } = domain
    const text = `${project?.name ?? projectId}: ${words}`
    await announce('domain.failed', { organizationId, projectId, subject, text, data: { hostname } })
  })
}
