import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const firstUser = 0x10000000
const users = 0x10000000

/** A number below 2^28 that a name always has, and that another name seldom has. */
export const hashOf = (name: string) => createHash('sha256').update(name).digest().readUInt32BE(0) & 0x0fffffff

/**
 * Which user each project has: no such user needs to exist on the machine, but no two projects may have the same. Each number
 * that was given out is a link to the project's id, made in one step and never taken back: what a project that is gone has left
 * somewhere is nobody else's.
 */
export class ProjectUsers {
  readonly #folder: string
  readonly #homes: string
  readonly #byProject = new Map<string, number>()
  #isRead = false

  /** `homes` holds a folder for each project that has one, which tells what projects had before numbers were written down. */
  constructor(folder: string, homes: string) {
    this.#folder = folder
    this.#homes = homes
  }

  of(projectId: string): number {
    this.#read()
    const known = this.#byProject.get(projectId)
    if (known !== undefined) return known
    const wanted = hashOf(projectId)
    for (let step = 0; step < users; step += 1) {
      const user = firstUser + ((wanted + step) % users)
      if (this.#claim(user, projectId)) return user
    }
    throw new Error('every user that a project could have is taken')
  }

  #read(): void {
    if (this.#isRead) return
    this.#isRead = true
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(this.#folder)) this.#byProject.set(readlinkSync(join(this.#folder, name)), Number(name))
    for (const projectId of namesIn(this.#homes)) {
      if (this.#byProject.has(projectId)) continue
      const user = lstatSync(join(this.#homes, projectId)).uid
      if (user < firstUser || user >= firstUser + users) continue
      // Two that always had the same number keep it: their files would be out of reach of the one that lost it.
      if (!this.#claim(user, projectId)) this.#byProject.set(projectId, user)
    }
  }

  /** False when it is somebody else's. */
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
