import { constants, existsSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir } from 'node:fs/promises'

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
/** Of Linux: holds a place without the right to read it. */
const O_PATH = 0o10000000
const hasHandles = existsSync('/proc/self/fd')
/** Opens a folder, and no link to one. */
export const folderFlags = (hasHandles ? O_PATH : O_RDONLY) | O_DIRECTORY | O_NOFOLLOW
/** Where a folder is found that is held open: wherever it is moved to, and whatever takes its place. */
export const heldPath = (fd: number, path: Buffer): Buffer => (hasHandles ? Buffer.from(`/proc/self/fd/${fd}`) : path)

/**
 * A folder that is held open. What is asked of it is about the names in this very folder: whoever may write to it can swap a
 * name for a link meanwhile, and leads nobody out of it. Names are bytes, as not every name is text.
 */
export class HeldFolder implements AsyncDisposable {
  readonly path: Buffer
  readonly #handle: FileHandle

  private constructor(handle: FileHandle, path: Buffer) {
    this.#handle = handle
    this.path = heldPath(handle.fd, path)
  }

  /** A path of our own, whose last part may be anything: null when it is not a folder. */
  static async open(path: string | Buffer): Promise<HeldFolder | null> {
    const bytes = Buffer.from(path)
    try {
      return new HeldFolder(await open(bytes, folderFlags), bytes)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return null
      throw error
    }
  }

  at(name: string | Buffer): Buffer {
    return Buffer.concat([this.path, Buffer.from('/'), Buffer.from(name)])
  }

  names(): Promise<Buffer[]> {
    return readdir(this.path, { encoding: 'buffer' })
  }

  stat(name: string | Buffer) {
    return lstat(this.at(name))
  }

  enter(name: string | Buffer): Promise<HeldFolder | null> {
    return HeldFolder.open(this.at(name))
  }

  /** Makes it where it is not there. */
  async make(name: string | Buffer): Promise<HeldFolder> {
    await mkdir(this.at(name), { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    const folder = await this.enter(name)
    if (!folder) throw new Error(`${String(name)} is not a folder`)
    return folder
  }

  /** To read; null when it is not a plain file. A pipe in its place is not waited for. */
  async file(name: string | Buffer): Promise<FileHandle | null> {
    try {
      const file = await open(this.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      if ((await file.stat()).isFile()) return file
      await file.close()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT' && code !== 'ELOOP' && code !== 'ENXIO') throw error
    }
    return null
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }
}
