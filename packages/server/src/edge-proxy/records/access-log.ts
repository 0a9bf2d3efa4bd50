import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nginxFiles } from '../protocol/nginx-files.ts'

/** A line of nginx's access log; every value is a text. */
export type AccessLine = Record<string, string>

export interface AccessLogOptions {
  /** Folder of nginx. */
  folder: string
  onLine(line: AccessLine): void
  /** Makes nginx open its log files again. */
  reopen(): void
  /** The log is replaced above this size. */
  maxBytes?: number
}

const readBytes = 262_144
const newLine = 10
/** A worker of nginx writes to the replaced file until it has received the signal. */
const reopenMs = 2_000

interface LogFile {
  handle: FileHandle
  /** Everything before it was reported. */
  position: number
  /** When nginx was told to write to another file. */
  replacedAt: number | undefined
}

/**
 * Reads nginx's access log as it grows, and replaces the file when it is large. The position is stored, so that a line is reported once
 * even if the edge is replaced meanwhile; after a crash of the edge the lines of the last moments may be reported again.
 */
export class AccessLog {
  readonly #options: AccessLogOptions
  readonly #buffer = Buffer.allocUnsafeSlow(readBytes)
  #files: LogFile[] = []
  #polling: Promise<void> = Promise.resolve()
  #storedPosition = ''

  constructor(options: AccessLogOptions) {
    this.#options = options
  }

  /** Reports the lines that were written since the last call. */
  poll(): Promise<void> {
    this.#polling = this.#polling.then(() => this.#poll()).catch(() => undefined)
    return this.#polling
  }

  /** Stores the position for a successor. */
  async close(): Promise<void> {
    await this.poll()
    await Promise.all(this.#files.splice(0).map(({ handle }) => handle.close()))
  }

  #path(name: string): string {
    return join(this.#options.folder, name)
  }

  async #poll(): Promise<void> {
    if (this.#files.length === 0) await this.#open()
    for (const file of this.#files) await this.#read(file)
    const [oldest] = this.#files
    if (oldest?.replacedAt !== undefined && Date.now() - oldest.replacedAt > reopenMs) await this.#dropReplaced(oldest)
    const current = this.#files.at(-1)
    if (current?.replacedAt === undefined && current && current.position > (this.#options.maxBytes ?? 33_554_432))
      await this.#replace(current)
    await this.#storePosition()
  }

  /** Continues where the last edge stopped; a file that it did not know is new. */
  async #open(): Promise<void> {
    const stored = await readFile(this.#path(nginxFiles.logPosition), 'utf8').catch(() => '')
    const positions = new Map(stored.split('\n').map((line) => line.split(' ') as [string, string]))
    for (const name of [nginxFiles.rotatedLog, nginxFiles.accessLog]) {
      const handle = await open(this.#path(name), 'r').catch(() => undefined)
      if (!handle) continue
      const { ino } = await handle.stat()
      const position = Number(positions.get(String(ino)) ?? 0)
      this.#files.push({ handle, position, replacedAt: name === nginxFiles.rotatedLog ? Date.now() : undefined })
    }
  }

  async #read(file: LogFile): Promise<void> {
    for (;;) {
      const { bytesRead } = await file.handle.read(this.#buffer, 0, readBytes, file.position)
      const bytes = this.#buffer.subarray(0, bytesRead)
      const end = bytes.lastIndexOf(newLine)
      if (end === -1) {
        // A line without an end that fills the buffer is not one of ours.
        if (bytesRead === readBytes) file.position += bytesRead
        return
      }
      file.position += end + 1
      for (const line of bytes.toString('utf8', 0, end).split('\n')) this.#report(line)
    }
  }

  #report(line: string): void {
    let fields: AccessLine
    try {
      fields = JSON.parse(line)
    } catch {
      return
    }
    this.#options.onLine(fields)
  }

  async #replace(file: LogFile): Promise<void> {
    await rename(this.#path(nginxFiles.accessLog), this.#path(nginxFiles.rotatedLog))
    file.replacedAt = Date.now()
    this.#options.reopen()
  }

  async #dropReplaced(file: LogFile): Promise<void> {
    const handle = await open(this.#path(nginxFiles.accessLog), 'r').catch(() => undefined)
    // nginx writes to the replaced file as long as it has not made a new one.
    if (!handle && this.#files.length === 1) {
      this.#options.reopen()
      return
    }
    this.#files.shift()
    await file.handle.close()
    await rm(this.#path(nginxFiles.rotatedLog), { force: true })
    if (handle && this.#files.length === 0) this.#files.push({ handle, position: 0, replacedAt: undefined })
    else await handle?.close()
  }

  async #storePosition(): Promise<void> {
    const lines = await Promise.all(this.#files.map(async ({ handle, position }) => `${(await handle.stat()).ino} ${position}`))
    const text = lines.join('\n')
    if (text === this.#storedPosition) return
    const path = this.#path(nginxFiles.logPosition)
    await writeFile(`${path}.new`, text, { mode: 0o600 })
    await rename(`${path}.new`, path)
    this.#storedPosition = text
  }
}
