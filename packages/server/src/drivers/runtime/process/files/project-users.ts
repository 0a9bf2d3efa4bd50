import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const firstUser = 0x10000000
const userCount = 0x10000000

/** Hash of a name, below 2^28. Collisions are rare. */
export const hashOf = (name: string) => createHash('sha256').update(name).digest().readUInt32BE(0) & 0x0fffffff

/**
 * Assigns a user id to each project. The users need no account on the machine, but no two projects may share an id. Each
 * assigned id is a symlink to the project id, created atomically and never removed: files left by a deleted project never
 * become accessible to another one.
 */
export class ProjectUsers {
  readonly #folder: string
  readonly #homes: string
  readonly #byProject = new Map<string, number>()
  #isLoaded = false

  /** `homes` has a folder for each project. Its owner is the id of projects from before ids were recorded. */
  constructor(folder: string, homes: string) {
    this.#folder = folder
    this.#homes = homes
  }

  userIdOf(projectId: string): number {
    this.#load()
    const known = this.#byProject.get(projectId)
    if (known !== undefined) return known
    const preferred = hashOf(projectId)
    for (let step = 0; step < userCount; step += 1) {
      const user = firstUser + ((preferred + step) % userCount)
      if (this.#claim(user, projectId)) return user
    }
    throw new Error('All user ids for projects are assigned')
  }

  #load(): void {
    if (this.#isLoaded) return
    this.#isLoaded = true
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(this.#folder)) this.#byProject.set(readlinkSync(join(this.#folder, name)), Number(name))
    for (const projectId of namesIn(this.#homes)) {
      if (this.#byProject.has(projectId)) continue
      const user = lstatSync(join(this.#homes, projectId)).uid
      if (user < firstUser || user >= firstUser + userCount) continue
      // Two old projects with the same id keep it: a project with a new id could not access its files.
      if (!this.#claim(user, projectId)) this.#byProject.set(projectId, user)
    }
  }

  /** Returns false if another project has the id. */
  #claim(user: number, projectId: string): boolean {
    const link = join(this.#folder, String(user))
    try {
      symlinkSync(projectId, link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      if (readlinkSync(link) !== projectId) return false
    }
    this.#byProject.set(projectId, user)
    return true
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
