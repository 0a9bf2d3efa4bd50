import { randomBytes } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProjectsDeps } from '../deps.ts'

/**
 * Uploads on disk, all in one folder: `<session>.tar.gz` is a complete, valid tarball; `<session>.<random>.incoming` and
 * `scan-<random>` belong to one request. The sweep removes those that a killed process left.
 */
export class UploadFiles {
  readonly folder: string

  constructor({ settings }: Pick<ProjectsDeps, 'settings'>) {
    this.folder = join(settings.dataDir, 'uploads')
  }

  of(sessionId: string): string {
    return join(this.folder, `${sessionId}${extension}`)
  }

  /** Each request writes to its own file: concurrent uploads of one session must not share one. */
  incoming(sessionId: string): string {
    return join(this.folder, `${sessionId}.${randomName()}.incoming`)
  }

  scanFolder(): string {
    return join(this.folder, `scan-${randomName()}`)
  }

  /** Moves the tarball into place durably, also across a power failure. */
  async store(incoming: string, sessionId: string): Promise<void> {
    await rename(incoming, this.of(sessionId))
    const folder = await open(this.folder, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }

  async remove(sessionId: string): Promise<void> {
    await rm(this.of(sessionId), { force: true })
  }

  /** Session ids that have a tarball. */
  async listStored(): Promise<string[]> {
    const names = await this.#names()
    return names.filter((name) => name.endsWith(extension)).map((name) => name.slice(0, -extension.length))
  }

  /** Removes files that requests left behind and that were last written before `before`. */
  async sweepLeftovers(before: number): Promise<void> {
    for (const name of (await this.#names()).filter((name) => name.startsWith('scan-') || name.includes('.incoming'))) {
      const path = join(this.folder, name)
      const changedAt = await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => null,
      )
      if (changedAt !== null && changedAt < before) await rm(path, { recursive: true, force: true })
    }
  }

  #names(): Promise<string[]> {
    return readdir(this.folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
  }
}

const extension = '.tar.gz'
const randomName = () => randomBytes(8).toString('hex')
