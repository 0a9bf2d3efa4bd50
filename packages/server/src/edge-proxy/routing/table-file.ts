import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { Mutex } from '../../platform/keyed-mutex.ts'
import { type TablePiece, TableState } from '../protocol/table-pieces.ts'

const rewriteFromBytes = 1_048_576
const rewriteFromChanges = 1_000

/**
 * The last table on disk, so that an edge that restarts serves at once, with or without a control plane: a file of pieces, one
 * a line. Changes are added at its end; when they outweigh the table the file is written anew and takes the old one's place.
 */
export class TableFile {
  readonly #path: string
  #file: FileHandle | undefined
  #wholeBytes = 0
  #addedBytes = 0
  #changes = 0
  /** Writes happen one after the other, in the order they were asked for. */
  readonly #mutex = new Mutex()

  constructor(path: string) {
    this.#path = path
  }

  /** The last complete table. A line that was cut short ends the reading: a change without its last piece has not happened. */
  async read(): Promise<TableState> {
    const state = new TableState()
    const text = await readFile(this.#path, 'utf8').catch(() => '')
    for (const line of text.split('\n')) {
      try {
        state.take(JSON.parse(line) as TablePiece)
      } catch (cause) {
        if (cause instanceof SyntaxError) break
        // A change that the file's whole table already holds.
      }
    }
    return state
  }

  /** Adds the pieces of one change; resolves when they are on disk. `whole` gives the table if it has to be written anew. */
  add(pieces: readonly TablePiece[], whole: () => Iterable<TablePiece>): Promise<void> {
    return this.#mutex.run(async () => {
      const text = pieces.map(lineOf).join('')
      // A whole table makes everything before it void, and so does a file that we did not write ourselves.
      const tooMuch = this.#changes >= rewriteFromChanges || this.#addedBytes > this.#wholeBytes + rewriteFromBytes
      if (!this.#file || pieces[0]?.base === null || tooMuch) {
        await this.#rewrite(whole())
        return
      }
      await this.#file.appendFile(text)
      await this.#file.datasync()
      this.#addedBytes += text.length
      this.#changes += 1
    })
  }

  close(): Promise<void> {
    return this.#mutex.run(async () => this.#file?.close())
  }

  /** Either the old file or the new one whole: written aside, synced, renamed. It holds keys, hence the mode. */
  async #rewrite(pieces: Iterable<TablePiece>): Promise<void> {
    const aside = `${this.#path}.new`
    const file = await open(aside, 'w', 0o600)
    try {
      let bytes = 0
      for (const piece of pieces) {
        const line = lineOf(piece)
        await file.appendFile(line)
        bytes += line.length
      }
      await file.sync()
      await rename(aside, this.#path)
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
