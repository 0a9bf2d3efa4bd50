import { findCertificate } from '../../edge-proxy/protocol/find-certificate.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { AssignedHostnameRow } from '../../platform/db/tables/routing.ts'
import { errorMessage } from '../../platform/error-message.ts'
import { routedProjects, verifyAllDomains } from '../projects/index.ts'
import { dashboardHostname, isAssigned, wildcardHostname } from './assigned-hostnames.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import { edgeTable, type TableFacts } from './table.ts'
import { UsableCertificates } from './usable-certificates.ts'

export interface EdgeState {
  /** Why the last sync failed; null if it succeeded. */
  readonly problem: string | null
  /** Host names that the edge serves, with their project; the dashboard has none. */
  readonly hostnames: ReadonlyMap<string, string | null>
  /** Domains that are not served, by id, with what they lack. */
  readonly waiting: ReadonlyMap<string, string>
  /** Host names that do not match the database, with the reason. */
  readonly refused: ReadonlyMap<string, string>
  /** Certificates that are not in use, with the reason. */
  readonly uncertified: ReadonlyMap<string, string>
  /** Names without a domain row whose certificate was requested. */
  readonly assigned: ReadonlyMap<string, AssignedHostnameRow>
  /** Problems of certificates as the edge serves them. */
  readonly servedWrong: ReadonlyMap<string, string>
  /** Host names to their one-label aliases. */
  readonly aliases: ReadonlyMap<string, string>
  /** The certificate in use for a host name: its own, or the wildcard that covers it. */
  covered(hostname: string): 'own' | 'wildcard' | null
}

const nothingCovered = () => null

const againAfterMs = 1_000
const maxRetryMs = 30_000

/**
 * Sends the routes in the database to the edge. Calls during a running sync share the next one. A failed sync is retried until it
 * succeeds, even if its caller has timed out.
 */
export class EdgeSync {
  readonly #deps: EdgeDeps
  readonly #certificates: UsableCertificates
  readonly #onUnusable: (certificates: ReadonlyMap<string, string>) => void
  #running: Promise<EdgeState> | null = null
  #next: Promise<EdgeState> | null = null
  #retryTimer: NodeJS.Timeout | undefined
  #failures = 0
  #stopped = false
  #state: EdgeState = Object.freeze({
    problem: null,
    hostnames: new Map(),
    waiting: new Map(),
    refused: new Map(),
    uncertified: new Map(),
    assigned: new Map(),
    servedWrong: new Map(),
    aliases: new Map(),
    covered: nothingCovered,
  })

  /** `onUnusable` is called with the unusable certificates after each sync that finds any. */
  constructor(deps: EdgeDeps, onUnusable: (certificates: ReadonlyMap<string, string>) => void) {
    this.#deps = deps
    this.#onUnusable = onUnusable
    this.#certificates = new UsableCertificates(deps.secretBox)
  }

  /** A new object after each sync. */
  get state(): EdgeState {
    return this.#state
  }

  /**
   * Resolves when the database state at the time of the call is active at the edge, except where the returned state says
   * otherwise.
   */
  sync(): Promise<EdgeState> {
    if (!this.#running) {
      this.#running = this.#apply().finally(() => {
        this.#running = null
      })
      return this.#running
    }
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = null
        return this.sync()
      })
    return this.#next
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#retryTimer)
  }

  async #apply(): Promise<EdgeState> {
    try {
      const { waiting, uncertified, servedWrong, ...facts } = await readFacts(this.#deps, this.#certificates)
      const { table, unreadable, aliases } = edgeTable(facts)
      const { warnings, refused } = await this.#deps.driver.apply(table)
      for (const warning of warnings) this.#deps.log.warn({ warning }, 'routing: edge ignored part of the table')
      const notInForce = new Map([...unreadable, ...Object.entries(refused)])
      for (const [hostname, reason] of notInForce) this.#deps.log.warn({ hostname, reason }, 'routing: edge rejected a host')
      const inForce = Object.entries(table.hosts).filter(([hostname]) => !notInForce.has(hostname))
      const hostnames = new Map(inForce.map(([hostname, { target }]) => [hostname, target.projectId ?? null]))
      this.#state = Object.freeze({
        ...{
          problem: null,
          hostnames,
          waiting,
          refused: notInForce,
          uncertified,
          servedWrong,
          aliases,
          assigned: facts.assigned,
        },
        covered: coverage(facts.certificates),
      })
      this.#failures = 0
      if (uncertified.size > 0) this.#onUnusable(uncertified)
      return this.#state
    } catch (error) {
      const problem = errorMessage(error)
      this.#state = Object.freeze({ ...this.#state, problem })
      this.#tryAgain()
      throw error
    }
  }

  #tryAgain(): void {
    clearTimeout(this.#retryTimer)
    if (this.#stopped) return
    const waitMs = Math.min(maxRetryMs, againAfterMs * 2 ** this.#failures++)
    const retryTimer = () =>
      void this.sync().catch((error: unknown) => this.#deps.log.warn({ err: error }, 'routing: edge rejected the table'))
    this.#retryTimer = setTimeout(retryTimer, waitMs).unref()
  }
}

async function readFacts({ database, settings, served, ...deps }: EdgeDeps, certificates: UsableCertificates) {
  const { db } = database
  const [{ projects, rules, pauses }, { live, instances }, { serving, waiting }] = await Promise.all([
    routedProjects(db),
    served(),
    verifyAllDomains(db, settings),
  ])
  // An expired certificate must not cause a redirect to https.
  const rows = await db.selectFrom('certificates').selectAll().where('expiresAt', '>', nowOf(deps)).execute()
  const { usable, problems } = await certificates.of(rows)
  const assigned = await db.selectFrom('assignedHostnames').selectAll().execute()
  const facts: TableFacts = {
    version: nowOf(deps),
    baseDomain: settings.baseDomain,
    projects,
    live,
    pauses,
    instances,
    domains: serving,
    rules,
    certificates: usable,
    challenges: await readChallenges(db),
    trustedProxies: settings.trustedProxies,
    servesTls: settings.edgeTlsPort !== null,
    control: deps.control(),
    dashboard: dashboardHostname({ settings, ...deps }),
    hasWildcard: wildcardHostname({ settings, ...deps }) !== null,
    assigned: new Map(assigned.map((row) => [row.hostname, row])),
    isAssigned: (hostname) => isAssigned(hostname, { settings, ...deps }),
  }
  const servedWrong = new Map(rows.flatMap(({ hostname, problem }) => (problem === null ? [] : [[hostname, problem] as const])))
  return { ...facts, waiting, uncertified: problems, servedWrong }
}

function coverage(certificates: TableFacts['certificates']): EdgeState['covered'] {
  const names = new Set(Object.keys(certificates))
  return (hostname) => {
    const found = findCertificate(names, hostname)
    return found === undefined ? null : found === hostname ? 'own' : 'wildcard'
  }
}

async function readChallenges(db: Db): Promise<Record<string, string>> {
  const rows = await db.selectFrom('acmeChallenges').selectAll().execute()
  return Object.fromEntries(rows.map(({ token, keyAuthorization }) => [token, keyAuthorization]))
}
