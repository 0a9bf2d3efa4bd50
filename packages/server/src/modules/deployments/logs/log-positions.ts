import type { Database } from '../../../platform/database.ts'
import { saveLogPositions } from '../instance-store.ts'

const saveMs = 1_000

/** Saves how far the output of each instance was read: those of all instances together, in one write per second. */
export class LogPositions {
  readonly #database: Pick<Database, 'db'>
  #unsaved = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined

  constructor(database: Pick<Database, 'db'>) {
    this.#database = database
  }

  set(instanceId: string, position: string): void {
    this.#unsaved.set(instanceId, position)
    this.#timer ??= setTimeout(() => void this.save().catch(() => undefined), saveMs)
  }

  /** Saves every position now. After a failure they are saved with the next one. */
  async save(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const positions = this.#unsaved
    if (positions.size === 0) return
    this.#unsaved = new Map()
    try {
      await saveLogPositions(this.#database.db, positions)
    } catch (error) {
      this.#unsaved = new Map([...positions, ...this.#unsaved])
      throw error
    }
  }
}
