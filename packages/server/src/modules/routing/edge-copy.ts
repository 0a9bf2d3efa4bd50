import { type Awaitable, thenSync } from '../../platform/awaitable.ts'
import type { Database } from '../../platform/database.ts'
import { EntryMaps } from './edge-entries.ts'
import type { EdgePorts } from './edge-record.ts'
import { type EdgeState, emptyEdgeState } from './edge-state.ts'
import { edgeEntriesAfter, readEdgeState } from './edge-state-store.ts'

interface Version {
  epoch: string
  version: number
}

/**
 * The state of the edge in a process that does not run it. `refresh` must be awaited before a read: it reads what the worker has
 * recorded since the last one, usually a single row.
 */
export class EdgeCopy {
  readonly #database: Database
  #maps = new EntryMaps()
  #known: Version = { epoch: '', version: 0 }
  #loading: Promise<void> | null = null
  #state = emptyEdgeState
  #ports: EdgePorts

  constructor(database: Database, ports: EdgePorts) {
    this.#database = database
    this.#ports = ports
  }

  /** A new object after each change. */
  get state(): EdgeState {
    return this.#state
  }

  get ports(): EdgePorts {
    return this.#ports
  }

  /** Resolves when the copy is at least as new as the last commit before the call. */
  refresh(): Awaitable<void> {
    return thenSync(readEdgeState(this.#database.db), (row) => {
      if (row && !this.#includes(row)) return this.#catchUp(row)
    })
  }

  #includes({ epoch, version }: Version): boolean {
    return this.#known.epoch === epoch && this.#known.version >= version
  }

  async #catchUp(wanted: Version): Promise<void> {
    // A load that is under way may have begun before the wanted commit.
    if (this.#loading) await this.#loading.catch(() => undefined)
    if (this.#includes(wanted)) return
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null
    })
    await this.#loading
  }

  async #load(): Promise<void> {
    const { db } = this.#database
    const row = await readEdgeState(db)
    if (!row) return
    const isContinued = row.epoch === this.#known.epoch
    const maps = isContinued ? this.#maps : new EntryMaps()
    // Rows of later versions may be among them: they are read again the next time.
    for await (const rows of edgeEntriesAfter(db, isContinued ? this.#known.version : 0))
      for (const entry of rows) maps.apply(entry)
    this.#maps = maps
    this.#known = { epoch: row.epoch, version: row.version }
    this.#ports = { http: row.httpPort, https: row.httpsPort }
    this.#state = maps.state(row.problem)
  }
}
