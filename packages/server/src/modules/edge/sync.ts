import type { Db } from '../../db/schema.ts'
import { sealedFor } from '../../db/sealed-columns.ts'
import { judgeAll } from '../projects/index.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import { edgeTable, type TableFacts } from './table.ts'

export interface EdgeState {
  /** Why the last try did not work, in words. */
  readonly problem: string | null
  /** Host names that are in force. */
  readonly hostnames: ReadonlySet<string>
  /** Claims of host names that are not served, by id, with what they lack. */
  readonly waiting: ReadonlyMap<string, string>
}

/** Hands what the database says to the edge. Calls that come while one is under way share the next one. */
export class EdgeSync {
  readonly #deps: EdgeDeps
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null
  #state: EdgeState = Object.freeze({ problem: null, hostnames: new Set<string>(), waiting: new Map<string, string>() })

  constructor(deps: EdgeDeps) {
    this.#deps = deps
  }

  /** A new one after each try. */
  get state(): EdgeState {
    return this.#state
  }

  /** Resolves when what was in the database at the time of the call is in force. */
  sync(): Promise<void> {
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

  async #apply(): Promise<void> {
    try {
      const { waiting, ...facts } = await readFacts(this.#deps)
      const table = edgeTable(facts)
      const { warnings } = await this.#deps.driver.apply(table)
      for (const warning of warnings) this.#deps.log.warn({ warning }, 'the edge left something out')
      this.#state = Object.freeze({ problem: null, hostnames: new Set(Object.keys(table.hosts)), waiting })
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error)
      this.#state = Object.freeze({ ...this.#state, problem })
      throw error
    }
  }
}

async function readFacts({ database, secretBox, settings, ...deps }: EdgeDeps): Promise<TableFacts & Pick<EdgeState, 'waiting'>> {
  const { db } = database
  const [projects, live, instances, { serving, waiting }, rules] = await Promise.all([
    db.selectFrom('projects').select(['id', 'slug', 'enabled', 'type', 'framework']).where('deletingSince', 'is', null).execute(),
    db.selectFrom('liveEnvironments').selectAll().execute(),
    db.selectFrom('instances').selectAll().where('state', '=', 'running').where('exposed', '=', 1).execute(),
    judgeAll(db, settings),
    db.selectFrom('routeRules').selectAll().where('enabled', '=', 1).execute(),
  ])
  // One that has ended is no reason to send anybody to https.
  const certificates = await db.selectFrom('certificates').selectAll().where('expiresAt', '>', nowOf(deps)).execute()
  return {
    version: nowOf(deps),
    baseDomain: settings.baseDomain,
    projects,
    live,
    instances,
    domains: serving,
    waiting,
    rules,
    certificates: Object.fromEntries(
      certificates.map(({ hostname, certificate, privateKey }) => [
        hostname,
        { cert: certificate, key: secretBox.open(privateKey, sealedFor.certificateKey(hostname)).reveal() },
      ]),
    ),
    challenges: await readChallenges(db),
    trustedProxies: settings.trustedProxies,
    servesTls: settings.edgeTlsPort !== null,
  }
}

async function readChallenges(db: Db): Promise<Record<string, string>> {
  const rows = await db.selectFrom('acmeChallenges').selectAll().execute()
  return Object.fromEntries(rows.map(({ token, keyAuthorization }) => [token, keyAuthorization]))
}
