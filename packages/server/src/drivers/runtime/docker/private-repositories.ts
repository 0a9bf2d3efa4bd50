import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/**
 * Repositories whose images are in the engine because some organisation had a login for them. The engine keeps an image for
 * everybody, so their images are used only after the registry was asked again, with the login of the organisation that wants
 * one. Noted before the first pull, and kept for good.
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

  /** A file that cannot be read is an error: without it a private image would be anybody's. */
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
