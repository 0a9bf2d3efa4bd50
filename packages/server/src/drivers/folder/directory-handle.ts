import { constants, existsSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir } from 'node:fs/promises'

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
/** Linux flag: opens a path without the permission to read it. */
const O_PATH = 0o10000000
const hasHandles = existsSync('/proc/self/fd')
/** Opens a folder, but not a symlink to one. */
export const folderFlags = (hasHandles ? O_PATH : O_RDONLY) | O_DIRECTORY | O_NOFOLLOW
/** The path of an open folder, which stays valid when the folder is moved or replaced. */
export const openFolderPath = (fd: number, path: Buffer): Buffer => (hasHandles ? Buffer.from(`/proc/self/fd/${fd}`) : path)

/**
 * A folder that is held open. All operations use names in this very folder: a process that can write to it may swap a name for
 * a symlink meanwhile, but cannot lead an operation outside. Names are bytes, since not every name is valid text.
 */
export class DirectoryHandle implements AsyncDisposable {
  readonly path: Buffer
  readonly #handle: FileHandle

  private constructor(handle: FileHandle, path: Buffer) {
    this.#handle = handle
    this.path = openFolderPath(handle.fd, path)
  }

  /** Opens a trusted path whose last part is untrusted: null when that is not a folder. */
  static async open(path: string | Buffer): Promise<DirectoryHandle | null> {
    const bytes = Buffer.from(path)
    try {
      return new DirectoryHandle(await open(bytes, folderFlags), bytes)
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

  enter(name: string | Buffer): Promise<DirectoryHandle | null> {
    return DirectoryHandle.open(this.at(name))
  }

  /** Creates the folder if it does not exist, and opens it. */
  async make(name: string | Buffer): Promise<DirectoryHandle> {
    await mkdir(this.at(name), { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    const folder = await this.enter(name)
    if (!folder) throw new Error(`${String(name)} is not a folder`)
    return folder
  }

  /** Opens a file for reading; null when it is not a regular file. A pipe in its place does not block. */
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
