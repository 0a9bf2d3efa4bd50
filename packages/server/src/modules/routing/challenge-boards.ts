import { setTimeout as pause } from 'node:timers/promises'
import type { ChallengeBoard } from '../../drivers/acme/acme.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import type { EdgeSync } from './sync.ts'

/** A wildcard is proven by a DNS record, every other name by a response of the edge. */
export const boardFor = (hostname: string, deps: EdgeDeps, edge: EdgeSync, abort: AbortSignal): ChallengeBoard =>
  hostname.startsWith('*.') ? dnsBoard(hostname.slice(2), deps, abort) : edgeBoard(deps, edge)

const edgeBoard = ({ database: { db }, ...deps }: EdgeDeps, edge: EdgeSync): ChallengeBoard => ({
  type: 'http-01',
  async show(token, keyAuthorization) {
    const row = { token, keyAuthorization, createdAt: nowOf(deps) }
    await db
      .insertInto('acmeChallenges')
      .values(row)
      .onConflict((conflict) => conflict.column('token').doUpdateSet(row))
      .execute()
    await edge.sync()
  },
  async hide(token) {
    await db.deleteFrom('acmeChallenges').where('token', '=', token).execute()
  },
})

const pollMs = 2_000
const cleanUpMs = 60_000

function dnsBoard(domain: string, { dnsChallenge, dns, settings, log }: EdgeDeps, abort: AbortSignal): ChallengeBoard {
  const name = `_acme-challenge.${domain}`
  if (!dnsChallenge) throw new Error('A wildcard certificate needs BERTH_DNS_PROVIDER')
  return {
    type: 'dns-01',
    async show(_token, value) {
      await dnsChallenge.present(name, value, abort)
      const giveUpAt = Date.now() + settings.dns.waitSeconds * 1_000
      while (Date.now() < giveUpAt && !(await isVisible(value)))
        await pause(Math.min(pollMs, Math.max(1, giveUpAt - Date.now())), undefined, { signal: abort })
    },
    async hide(_token, value) {
      await dnsChallenge
        .remove(name, value, AbortSignal.timeout(cleanUpMs))
        .catch((error: unknown) => log.warn({ err: error, name }, 'certificates: challenge record not removed'))
    },
  }
  /** Never rejects: this resolver may not answer, or may have cached that the record is missing, but the authority asks DNS itself. */
  async function isVisible(value: string): Promise<boolean> {
    const records: readonly string[] = await dns.txt(name, abort).catch(() => [])
    return records.includes(value)
  }
}
