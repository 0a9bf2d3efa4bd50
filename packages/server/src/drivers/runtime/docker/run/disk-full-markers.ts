import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Instances that were ended for their disk limit. Stored as files, because labels of a container cannot be changed. */
export class DiskFullMarkers {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = join(folder, 'disk-full')
    mkdirSync(this.#folder, { recursive: true })
  }

  has = (instanceId: string): boolean => existsSync(this.#file(instanceId))

  add(instanceId: string): void {
    writeFileSync(this.#file(instanceId), '')
  }

  delete(instanceId: string): void {
    rmSync(this.#file(instanceId), { force: true })
  }

  #file = (instanceId: string) => join(this.#folder, encodeURIComponent(instanceId))
}
