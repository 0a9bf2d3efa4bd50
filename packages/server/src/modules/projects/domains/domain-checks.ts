import { DnsUnanswered } from '../../../drivers/dns/dns.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { DomainRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { type JobKind, job } from '../../../platform/jobs/declare.ts'
import type { Schedule } from '../../../platform/jobs/schedules.ts'
import { roundRobin } from '../../../platform/round-robin.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { updateDomainWebhook } from '../hostnames/delivery-address.ts'
import { newHolder, proofRecord } from '../hostnames/domain-proofs.ts'
import { findServingClaim } from '../hostnames/served-domains.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { claimsOf, present } from '../store.ts'
import { type AddressCheck, checkAddress } from './address-check.ts'
import { transitionTls } from './domain-tls.ts'

type NoPayload = Record<string, never>
export const checkKind: JobKind<NoPayload> = { kind: 'projects.check-domains' }
export const checkSchedule: Schedule<unknown> = {
  key: checkKind.kind,
  job: checkKind,
  payload: {},
  recurrence: { everySeconds: 60 },
}

const minPauseMs = 30_000
const maxPauseMs = 6 * 3_600_000
const maxConcurrent = 8
const maxPerRun = 500

/**
 * Pause before the next check: half of the claim's age. Checks are frequent while a user waits for the result, then rare and
 * cheap.
 */
export const pauseAfter = (ageMs: number): number => Math.min(Math.max(Math.floor(ageMs / 2), minPauseMs), maxPauseMs)

/** Checks the DNS records of waiting claims, one host name at a time. A lookup without an answer is retried later. */
export const checkJob = (deps: ProjectsDeps) =>
  job<NoPayload, unknown>(checkKind.kind, {
    deadlineMs: 10 * 60_000,
    maxAttempts: 1,
    async run(_payload, _deps, abort) {
      const names = await dueNames(deps)
      for (let offset = 0; offset < names.length; offset += maxConcurrent) {
        abort.throwIfAborted()
        await Promise.all(names.slice(offset, offset + maxConcurrent).map((hostname) => checkName(hostname, deps, abort)))
      }
    },
  })

/** Checks the project's waiting names now: the user reports that the records exist. */
export async function checkProject({ id }: Pick<ProjectRow, 'id'>, deps: ProjectsDeps): Promise<void> {
  const rows = await deps.database.db
    .selectFrom('domains')
    .select('hostname')
    .where('projectId', '=', id)
    .where((is) => is.or([is('provenAt', 'is', null), is('pointsHere', '=', 0)]))
    .limit(maxConcurrent * 4)
    .execute()
  // One limit for all names together: the client waits for the response.
  const abort = AbortSignal.timeout(5_000)
  for (let offset = 0; offset < rows.length; offset += maxConcurrent)
    await Promise.all(rows.slice(offset, offset + maxConcurrent).map(({ hostname }) => checkName(hostname, deps, abort)))
}

async function dueNames({ database: { db }, ...deps }: ProjectsDeps): Promise<string[]> {
  const now = nowOf(deps)
  const due = await db
    .selectFrom('domains')
    .innerJoin('projects', 'projects.id', 'domains.projectId')
    .select(['hostname', 'projects.organizationId'])
    .where('projects.presence', 'in', present)
    // A time beyond the longest pause was set while the clock was ahead.
    .where((is) => is.or([is('nextCheckAt', '<=', now), is('nextCheckAt', '>', now + maxPauseMs)]))
    .orderBy('nextCheckAt')
    .limit(maxPerRun)
    .execute()
  return [...new Set(roundRobin(due, ({ organizationId }) => organizationId).map(({ hostname }) => hostname))]
}

/** Looks up the TXT records and the addresses of one host name. False: no name server answered for the TXT records. */
export async function checkName(hostname: string, deps: ProjectsDeps, abort: AbortSignal): Promise<boolean> {
  const [records, address] = await Promise.all([txtRecords(hostname, deps, abort), checkAddress(hostname, deps, abort)])
  await deps.database.transaction(async (transaction) => {
    await lockName(transaction, hostname)
    const claims = await claimsOf(transaction.db, hostname)
    const next = records && newHolder(claims, records)
    if (next) await handOver(claims, next, transaction, deps)
    for (const claim of claims) {
      if (address) await recordAddress(claim, address, transaction)
      const isProven = claim === next || claim.provenAt !== null
      const { pointsHere } = address ?? claim
      if (!isProven || pointsHere === 0) await scheduleNextCheck(claim, transaction.db, deps)
      else if (claim.nextCheckAt !== null) await endChecks(claim, transaction.db)
    }
  })
  return records !== null
}

async function txtRecords(hostname: string, deps: ProjectsDeps, abort: AbortSignal): Promise<readonly string[] | null> {
  return deps.dns.txt(proofRecord({ hostname, proofToken: '' }).name, abort).catch((error: unknown) => {
    if (error instanceof DnsUnanswered) return null
    throw error
  })
}

async function recordAddress(claim: DomainRow, address: AddressCheck, { db, signal }: TransactionContext): Promise<void> {
  if (claim.pointsHere === address.pointsHere && claim.resolvesTo === address.resolvesTo) return
  await db.updateTable('domains').set(address).where('id', '=', claim.id).execute()
  signal(projectsTopic, { projectId: claim.projectId } satisfies ProjectSignal)
}

const endChecks = ({ id }: DomainRow, db: Db) =>
  db.updateTable('domains').set({ nextCheckAt: null }).where('id', '=', id).where('provenAt', 'is not', null).execute()

/** Makes the unproven claims of the host name due now. */
export async function checkSoon(
  hostname: string,
  { db, enqueue }: Pick<TransactionContext, 'db' | 'enqueue'>,
  deps: ProjectsDeps,
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('domains')
    .set({ nextCheckAt: nowOf(deps) })
    .where('hostname', '=', hostname)
    .where('provenAt', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await enqueue(checkKind, {}, { uniqueKey: checkKind.kind })
}

/** Locks the host name: until the transaction ends, no other transaction claims it or marks it as proven. */
export const lockName = ({ lock }: Pick<TransactionContext, 'lock'>, hostname: string): Promise<void> =>
  lock(`domain:${hostname}`)

const scheduleNextCheck = ({ id, createdAt }: DomainRow, db: Db, deps: ProjectsDeps) => {
  const now = nowOf(deps)
  return db
    .updateTable('domains')
    .set({ nextCheckAt: now + pauseAfter(now - createdAt) })
    .where('id', '=', id)
    .execute()
}

/**
 * Moves the host name from its holder to `next` and notifies the previous holder. The previous claim stays: it is proven again
 * when its own record exists and that of `next` does not.
 */
async function handOver(
  claims: readonly DomainRow[],
  next: DomainRow,
  transaction: TransactionContext,
  deps: ProjectsDeps,
): Promise<void> {
  const { db, signal } = transaction
  const now = nowOf(deps)
  const served = await findServingClaim(db, next.hostname, deps.settings)
  const holder = claims.find(({ id }) => id === served?.id && id !== next.id)
  // Includes a domain of a project that is being deleted, which is not among the claims.
  const unproven = await db
    .updateTable('domains')
    .set({ provenAt: null, nextCheckAt: now + minPauseMs })
    .where('hostname', '=', next.hostname)
    .where('provenAt', 'is not', null)
    .returning('id')
    .execute()
  await transitionTls(db, [...new Set([...unproven.map(({ id }) => id), ...(holder ? [holder.id] : [])])], 'none')
  if (holder) {
    const text =
      holder.provenAt === null
        ? 'Another organisation has verified this domain with its TXT record'
        : `Its TXT record ${proofRecord(holder).name} was removed, and another organisation has verified the domain with its own`
    await notifyLost(holder, `${holder.hostname} is no longer served`, text, transaction)
    signal(projectsTopic, { projectId: holder.projectId } satisfies ProjectSignal)
  }
  await db.updateTable('domains').set({ provenAt: now, nextCheckAt: null }).where('id', '=', next.id).execute()
  await updateDomainWebhook(next, transaction)
  signal(projectsTopic, { projectId: next.projectId } satisfies ProjectSignal)
}

async function notifyLost(claim: DomainRow, subject: string, message: string, transaction: TransactionContext): Promise<void> {
  const { db, announce } = transaction
  const { organizationId, projectId, hostname } = claim
  const project = await db.selectFrom('projects').select('name').where('id', '=', projectId).executeTakeFirst()
  const text = `${project?.name ?? projectId}: ${message}`
  await announce('domain.failed', { organizationId, projectId, subject, text, data: { hostname } })
  await updateDomainWebhook(claim, transaction)
}
