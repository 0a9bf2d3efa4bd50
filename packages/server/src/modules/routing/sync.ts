import type { Db } from '../../platform/db/schema.ts'
import { errorMessage } from '../../platform/error-message.ts'
import { routedProjects, verifyAllDomains } from '../projects/index.ts'
import { dashboardHostname, isAssigned, wildcardHostname } from './assigned-hostnames.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import { type EdgePorts, EdgeRecord } from './edge-record.ts'
import { type EdgeState, emptyEdgeState } from './edge-state.ts'
import { edgeTable, type TableFacts } from './table.ts'
import { UsableCertificates } from './usable-certificates.ts'

const firstRetryMs = 1_000
const maxRetryMs = 30_000

/**
 * Sends the routes in the database to the edge. Calls during a running sync share the next one. A failed sync is retried until it
 * succeeds, even if its caller has timed out.
 */
export class EdgeSync {
  readonly #deps: EdgeDeps
  readonly #ports: () => EdgePorts
  readonly #record: EdgeRecord
  readonly #certificates: UsableCertificates
  readonly #onUnusable: (certificates: ReadonlyMap<string, string>) => void
  #running: Promise<EdgeState> | null = null
  #next: Promise<EdgeState> | null = null
  #retryTimer: NodeJS.Timeout | undefined
  #failures = 0
  #stopped = false
  #state = emptyEdgeState

  /** `onUnusable` is called with the unusable certificates after each sync that finds any. */
  constructor(deps: EdgeDeps, ports: () => EdgePorts, onUnusable: (certificates: ReadonlyMap<string, string>) => void) {
    this.#deps = deps
    this.#ports = ports
    this.#record = new EdgeRecord(deps.database)
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
      for (const warning of warnings) this.#deps.log.warn({ warning }, 'routing: edge skipped a part of the routing table')
      const rejected = new Map([...unreadable, ...Object.entries(refused)])
      for (const [hostname, reason] of rejected) this.#deps.log.warn({ hostname, reason }, 'routing: edge rejected a host')
      const active = Object.entries(table.hosts).filter(([hostname]) => !rejected.has(hostname))
      const hostnames = new Map(active.map(([hostname, { target }]) => [hostname, target.projectId ?? null]))
      const certificates = new Map(Object.keys(facts.certificates).map((name) => [name, null]))
      const { assigned } = facts
      const served = { hostnames, waiting, refused: rejected, uncertified, servedWrong, aliases, assigned, certificates }
      await this.#set({ problem: null, ...served })
      this.#failures = 0
      if (uncertified.size > 0) this.#onUnusable(uncertified)
      return this.#state
    } catch (error) {
      const problem = errorMessage(error)
      this.#scheduleRetry()
      await this.#set({ ...this.#state, problem }).catch((err: unknown) =>
        this.#deps.log.warn({ err }, 'routing: state of the edge not recorded'),
      )
      throw error
    }
  }

  /** Records the state before a caller of `sync` goes on: an API process then reads it. */
  async #set(state: EdgeState): Promise<void> {
    this.#state = Object.freeze(state)
    await this.#record.save(state, this.#ports())
  }

  #scheduleRetry(): void {
    clearTimeout(this.#retryTimer)
    if (this.#stopped) return
    const waitMs = Math.min(maxRetryMs, firstRetryMs * 2 ** this.#failures++)
    const retry = () =>
      void this.sync().catch((error: unknown) => this.#deps.log.warn({ err: error }, 'routing: edge not updated, will retry'))
    this.#retryTimer = setTimeout(retry, waitMs).unref()
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

async function readChallenges(db: Db): Promise<Record<string, string>> {
  const rows = await db.selectFrom('acmeChallenges').selectAll().execute()
  return Object.fromEntries(rows.map(({ token, keyAuthorization }) => [token, keyAuthorization]))
}
