import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/**
 * Repositories whose images were pulled with a login of some organisation. The engine keeps images for all its users, so such
 * an image is used only after the registry has authorized the requesting organisation's own login. A repository is recorded
 * before its first pull and never removed.
 */
export class PrivateRepositories {
  readonly #file: string
  #names: Set<string> | undefined

  constructor(file: string) {
    this.#file = file
  }

  has = (repository: string): boolean => this.#read().has(repository)

  add(repository: string): void {
    const names = this.#read()
    if (names.has(repository)) return
    names.add(repository)
    const draft = `${this.#file}.${process.pid}`
    writeFileSync(draft, JSON.stringify([...names]), { mode: 0o600, flush: true })
    renameSync(draft, this.#file)
  }

  /** Reads the file. An unreadable file is an error: without its names, every organisation could use the private images. */
  #read(): Set<string> {
    if (this.#names) return this.#names
    try {
      this.#names = new Set(JSON.parse(readFileSync(this.#file, 'utf8')) as string[])
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      this.#names = new Set()
    }
    return this.#names
  }
}
