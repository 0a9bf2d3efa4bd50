import { open, readFile, rename } from 'node:fs/promises'
import type { EdgeTable } from '../drivers/edge/edge-table.ts'

/** The last table on disk, so that an edge that restarts serves at once, with or without a control plane. */
export class TableFile {
  readonly #path: string
  #writing: Promise<void> | undefined
  #next: EdgeTable | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Undefined when there is none yet, or none that can be read: an edge without hosts is better than none. */
  async read(): Promise<EdgeTable | undefined> {
    try {
      const table: unknown = JSON.parse(await readFile(this.#path, 'utf8'))
      return isTable(table) ? table : undefined
    } catch {
      return undefined
    }
  }

  /** Resolves when this table or a newer one is on disk. Tables that were overtaken while one was written are skipped. */
  async write(table: EdgeTable): Promise<void> {
    this.#next = table
    if (this.#writing) await this.#writing.catch(() => {})
    if (this.#next !== table) return this.#writing
    this.#next = undefined
    this.#writing = this.#replace(table)
    return this.#writing
  }

  /** Either the old file or the new one whole: written aside, synced, renamed. It holds keys, hence the mode. */
  async #replace(table: EdgeTable): Promise<void> {
    const aside = `${this.#path}.new`
    const file = await open(aside, 'w', 0o600)
    try {
      await file.writeFile(JSON.stringify(table))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(aside, this.#path)
  }
}

const isTable = (value: unknown): value is EdgeTable =>
  typeof value === 'object' && value !== null && 'version' in value && 'hosts' in value && typeof value.hosts === 'object'
