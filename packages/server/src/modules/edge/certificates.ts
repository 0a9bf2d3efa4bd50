import { sealedFor } from '../../db/sealed-columns.ts'
import type { DomainRow } from '../../db/tables/projects.ts'
import { type AcmeAccount, OrderRefused } from '../../drivers/acme/acme.ts'
import { type JobKind, job } from '../../jobs/declare.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import type { EdgeSync } from './sync.ts'

export const certifyKind: JobKind<{ hostname: string }> = { kind: 'edge.certify' }
export const renewKind: JobKind<Record<string, never>> = { kind: 'edge.renew' }

const day = 86_400_000
const renewBeforeMs = 30 * day
const retryFailedMs = 60 * 60_000

/** Gets a certificate for one domain. The authority's own words are shown when it refuses. */
export const certifyJob = (deps: EdgeDeps, edge: EdgeSync) =>
  job<{ hostname: string }, unknown>(certifyKind.kind, {
    deadlineMs: 5 * 60_000,
    maxAttempts: 3,
    concurrency: 2,
    backoff: (attempt) => attempt * 30_000,
    async run({ hostname }) {
      const { db } = deps.database
      const domain = await db.selectFrom('domains').selectAll().where('hostname', '=', hostname).executeTakeFirst()
      if (!domain || deps.settings.edgeTlsPort === null) return
      try {
        await order(hostname, deps, edge)
        await note(hostname, { tls: 'active', state: 'synced', reason: null }, deps)
        await edge.sync()
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        await note(
          hostname,
          { tls: (await hasCertificate(hostname, deps)) ? 'active' : 'error', reason: `No certificate: ${reason}` },
          deps,
        )
        await tellFailure(domain, reason, deps)
        if (!(error instanceof OrderRefused)) throw error
      }
    },
  })

async function order(hostname: string, deps: EdgeDeps, edge: EdgeSync): Promise<void> {
  const { db } = deps.database
  const { directoryUrl, account } = await ourAccount(deps)
  const issued = await deps.acme.order(hostname, account, {
    async show(token, keyAuthorization) {
      await db
        .insertInto('acmeChallenges')
        .values({ token, keyAuthorization, createdAt: nowOf(deps) })
        .execute()
      await edge.sync()
    },
    hide: async (token) => {
      await db.deleteFrom('acmeChallenges').where('token', '=', token).execute()
    },
  })
  const row = {
    hostname,
    certificate: issued.certificate,
    privateKey: deps.secretBox.seal(issued.privateKey, sealedFor.certificateKey(hostname)),
    expiresAt: issued.expiresAt.getTime(),
    issuedAt: nowOf(deps),
  }
  await deps.database.transaction(async ({ db }) => {
    await db
      .insertInto('certificates')
      .values(row)
      .onConflict((conflict) => conflict.column('hostname').doUpdateSet(row))
      .execute()
    await db.updateTable('acmeAccounts').set({ accountUrl: issued.accountUrl }).where('directoryUrl', '=', directoryUrl).execute()
  })
}

/** One account a directory, made once; whoever is second takes the first one's. */
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
  const account: AcmeAccount = { privateKey: secretBox.open(row.privateKey, place), accountUrl: row.accountUrl }
  return { directoryUrl, account }
}

/** Asks for what is missing, renews what ends within 30 days, and forgets what no domain wants. */
export const renewJob = (deps: EdgeDeps) =>
  job<Record<string, never>, unknown>(renewKind.kind, {
    deadlineMs: 5 * 60_000,
    maxAttempts: 1,
    async run() {
      if (deps.settings.edgeTlsPort === null) return
      await deps.database.transaction(async ({ db, enqueue }) => {
        const certificates = new Map(
          (await db.selectFrom('certificates').select(['hostname', 'expiresAt']).execute()).map((row) => [row.hostname, row]),
        )
        const now = nowOf(deps)
        for (const domain of await db.selectFrom('domains').selectAll().execute()) {
          const expiresAt = certificates.get(domain.hostname)?.expiresAt
          if (expiresAt !== undefined && expiresAt - now > renewBeforeMs) continue
          const runAt = domain.tls === 'error' ? new Date(now + retryFailedMs) : new Date(now)
          await enqueue(
            certifyKind,
            { hostname: domain.hostname },
            { uniqueKey: `${certifyKind.kind}:${domain.hostname}`, runAt },
          )
        }
        await db
          .deleteFrom('acmeChallenges')
          .where('createdAt', '<', now - day)
          .execute()
        await db
          .deleteFrom('certificates')
          .where('hostname', 'not in', (eb) => eb.selectFrom('domains').select('hostname'))
          .execute()
      })
    },
  })

const note = (hostname: string, changes: Partial<Pick<DomainRow, 'tls' | 'state' | 'reason'>>, { database }: EdgeDeps) =>
  database.db.updateTable('domains').set(changes).where('hostname', '=', hostname).execute()

const hasCertificate = async (hostname: string, { database, ...deps }: EdgeDeps) =>
  !!(await database.db
    .selectFrom('certificates')
    .select('hostname')
    .where('hostname', '=', hostname)
    .where('expiresAt', '>', nowOf(deps))
    .executeTakeFirst())

async function tellFailure({ projectId, hostname, tls }: DomainRow, reason: string, { database }: EdgeDeps): Promise<void> {
  // Told once: the next try an hour later is no news.
  if (tls === 'error') return
  await database.transaction(async ({ db, announce }) => {
    const project = await db
      .selectFrom('projects')
      .select(['organizationId', 'name'])
      .where('id', '=', projectId)
      .executeTakeFirst()
    if (!project) return
    const { organizationId, name } = project
    await announce('domain.failed', {
      organizationId,
      projectId,
      subject: `No certificate for ${hostname}`,
      text: `${name}: ${reason}`,
      data: { hostname },
    })
  })
}
