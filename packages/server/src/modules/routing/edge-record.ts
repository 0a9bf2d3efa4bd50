import { randomBytes } from 'node:crypto'
import type { Database } from '../../platform/database.ts'
import type { Db } from '../../platform/db/schema.ts'
import { unrecorded } from '../../platform/db/write-record.ts'
import { EntryMaps, entryChanges } from './edge-entries.ts'
import type { EdgeState } from './edge-state.ts'
import { beginEpoch, edgeEntriesAfter, saveEdgeState, saveEntries } from './edge-state-store.ts'

export interface EdgePorts {
  http: number
  https: number | null
}

interface Saved {
  epoch: string
  version: number
  state: EdgeState
  ports: EdgePorts
}

/**
 * Records the state of the edge in the database, where API processes read it. Only differences are written; an unchanged state
 * costs nothing.
 */
export class EdgeRecord {
  readonly #database: Database
  #saved: Saved | null = null

  constructor(database: Database) {
    this.#database = database
  }

  /** The caller saves one state at a time. */
  async save(state: EdgeState, ports: EdgePorts): Promise<void> {
    if (this.#saved && !isChanged(this.#saved, state, ports)) return
    // A sync may run within a request whose audit record belongs to another write.
    this.#saved = await unrecorded(() =>
      this.#database.transaction(async ({ db }) => (await this.#update(db, state, ports)) ?? this.#begin(db, state, ports)),
    )
  }

  /** Null: nothing was saved yet, or another worker has begun an epoch. */
  async #update(db: Db, state: EdgeState, ports: EdgePorts): Promise<Saved | null> {
    if (!this.#saved) return null
    const { epoch } = this.#saved
    const version = this.#saved.version + 1
    if (!(await saveEdgeState(db, epoch, columnsOf(version, state, ports)))) return null
    await saveEntries(db, version, entryChanges(this.#saved.state, state))
    return { epoch, version, state, ports }
  }

  /** Entries of an earlier epoch are kept if they are still valid. */
  async #begin(db: Db, state: EdgeState, ports: EdgePorts): Promise<Saved> {
    const [epoch, version] = [randomBytes(16).toString('hex'), 1]
    await beginEpoch(db, { epoch, ...columnsOf(version, state, ports) })
    const maps = new EntryMaps()
    for await (const rows of edgeEntriesAfter(db, 0)) for (const row of rows) maps.apply(row)
    await saveEntries(db, version, entryChanges(maps.state(null), state))
    return { epoch, version, state, ports }
  }
}

const columnsOf = (version: number, { problem }: EdgeState, { http, https }: EdgePorts) => ({
  version,
  problem,
  httpPort: http,
  httpsPort: https,
})

function isChanged(saved: Saved, state: EdgeState, ports: EdgePorts): boolean {
  if (saved.state.problem !== state.problem || saved.ports.http !== ports.http || saved.ports.https !== ports.https) return true
  const { changed, removed } = entryChanges(saved.state, state)
  return changed.length + removed.length > 0
}
