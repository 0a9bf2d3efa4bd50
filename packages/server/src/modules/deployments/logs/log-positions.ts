import type { Database } from '../../../platform/database.ts'
import type { LogStore } from '../../../platform/log-store/log-store.ts'
import { saveLogPositions } from '../instance-store.ts'

interface LogPositionsDeps {
  database: Pick<Database, 'db'>
  logStore: Pick<LogStore, 'write'>
}

interface UnsavedPosition {
  projectId: string
  position: string
}

const saveMs = 1_000

/**
 * Saves how far the output of each instance was read, all instances in one write per second. A position is saved after its lines
 * are in the log's file: a control plane that is killed in between reads the lines again instead of losing them.
 */
export class LogPositions {
  readonly #deps: LogPositionsDeps
  #unsaved = new Map<string, UnsavedPosition>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: LogPositionsDeps) {
    this.#deps = deps
  }

  set({ id, projectId }: { id: string; projectId: string }, position: string): void {
    this.#unsaved.set(id, { projectId, position })
    this.#timer ??= setTimeout(() => void this.save().catch(() => undefined), saveMs)
  }

  /** Saves all unsaved positions now. After a failure they are saved with the next call. */
  async save(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const unsaved = this.#unsaved
    if (unsaved.size === 0) return
    this.#unsaved = new Map()
    try {
      const projectIds = new Set([...unsaved.values()].map(({ projectId }) => projectId))
      await Promise.all([...projectIds].map((projectId) => this.#deps.logStore.write(projectId, 'runtime')))
      await saveLogPositions(this.#deps.database.db, new Map([...unsaved].map(([id, { position }]) => [id, position])))
    } catch (error) {
      this.#unsaved = new Map([...unsaved, ...this.#unsaved])
      throw error
    }
  }
}
