import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { Mutex } from '../../platform/keyed-mutex.ts'
import { type TablePiece, TableState } from '../protocol/table-pieces.ts'

const rewriteFromBytes = 1_048_576
const rewriteFromChanges = 1_000

/**
 * The last table on disk, so that a restarted edge serves at once, even without a control plane. The file has one piece per line.
 * Changes are appended; when they are larger than the table, the file is replaced by one with the current table.
 */
export class TableFile {
  readonly #path: string
  #file: FileHandle | undefined
  #wholeBytes = 0
  #addedBytes = 0
  #changes = 0
  /** Writes run one after another. */
  readonly #mutex = new Mutex()

  constructor(path: string) {
    this.#path = path
  }

  /** Reads the last complete table. A truncated line ends the reading: a change without its last piece is ignored. */
  async read(): Promise<TableState> {
    const state = new TableState()
    const text = await readFile(this.#path, 'utf8').catch(() => '')
    for (const line of text.split('\n')) {
      try {
        state.take(JSON.parse(line) as TablePiece)
      } catch (cause) {
        if (cause instanceof SyntaxError) break
        // The base of the piece is not in the file: the file was rewritten with this change already included.
      }
    }
    return state
  }

  /** Appends the pieces of one change; resolves when they are on disk. If the file is rewritten, `wholeTable` returns its pieces. */
  add(pieces: readonly TablePiece[], wholeTable: () => Iterable<TablePiece>): Promise<void> {
    return this.#mutex.run(async () => {
      const isOversized = this.#changes >= rewriteFromChanges || this.#addedBytes > this.#wholeBytes + rewriteFromBytes
      // A whole table replaces all earlier pieces. A file that another process wrote is not appended to.
      if (!this.#file || pieces[0]?.base === null || isOversized) {
        await this.#rewrite(wholeTable())
        return
      }
      const text = pieces.map(lineOf).join('')
      await this.#file.appendFile(text)
      await this.#file.datasync()
      this.#addedBytes += text.length
      this.#changes += 1
    })
  }

  close(): Promise<void> {
    return this.#mutex.run(async () => this.#file?.close())
  }

  /** Replaces the file atomically: writes a temporary file, syncs and renames it. It contains private keys, hence the mode. */
  async #rewrite(pieces: Iterable<TablePiece>): Promise<void> {
    const temporaryPath = `${this.#path}.new`
    const file = await open(temporaryPath, 'w', 0o600)
    try {
      let bytes = 0
      for (const piece of pieces) {
        const line = lineOf(piece)
        await file.appendFile(line)
        bytes += line.length
      }
      await file.sync()
      await rename(temporaryPath, this.#path)
      await this.#file?.close()
      this.#file = file
      this.#wholeBytes = bytes
      this.#addedBytes = 0
      this.#changes = 0
    } catch (cause) {
      await file.close()
      throw cause
    }
  }
}

const lineOf = (piece: TablePiece) => `${JSON.stringify(piece)}\n`
