import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { KeyedMutex } from '../../platform/keyed-mutex.ts'
import { GitFailed } from './git-errors.ts'
import type { RemoteAddress } from './remote.ts'
import type { SafeGit } from './safe-git.ts'

/** Limits above which a cache is deleted: fetching the newest commits again is cheaper than maintaining it. */
const maxPacks = 50
const maxBytes = 200_000_000

/** Cache with one bare repository per remote, with commits only. All of it can be fetched again. */
export class HistoryCache {
  readonly #git: SafeGit
  readonly #folder: string
  readonly #locks = new KeyedMutex()

  constructor(git: SafeGit, folder: string) {
    this.#git = git
    this.#folder = folder
  }

  /**
   * Runs `work` with exclusive access to the remote's repository. Where git fails because the repository is damaged, it is
   * recreated once.
   */
  async withRepository<Result>(
    remote: RemoteAddress,
    work: (gitFolder: string) => Promise<Result>,
    abort?: AbortSignal,
  ): Promise<Result> {
    const gitFolder = join(this.#folder, `${createHash('sha256').update(remote.url).digest('hex').slice(0, 40)}.git`)
    const attempt = async () => {
      await this.#open(gitFolder, abort)
      return work(gitFolder)
    }
    return this.#locks.run(
      gitFolder,
      async () => {
        try {
          return await attempt().catch(async (error) => {
            if (!(error instanceof GitFailed)) throw error
            await remove(gitFolder)
            return attempt()
          })
        } finally {
          if (await isOverLimits(gitFolder)) await remove(gitFolder)
        }
      },
      abort,
    )
  }

  /** Removes caches that were not used for that long. */
  async sweep(olderThanMs: number, now: Date): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const path = join(this.#folder, name)
      await this.#locks.run(path, async () => {
        const used = await stat(path).catch(() => null)
        if (used && now.getTime() - used.mtimeMs > olderThanMs) await remove(path)
      })
    }
  }

  async #open(gitFolder: string, abort?: AbortSignal): Promise<void> {
    if (await stat(join(gitFolder, 'HEAD')).catch(() => null)) await removeLeftovers(gitFolder)
    else await this.#create(gitFolder, abort)
    const now = new Date()
    await utimes(gitFolder, now, now)
  }

  async #create(gitFolder: string, abort?: AbortSignal): Promise<void> {
    const newFolder = `${gitFolder}.${randomUUID()}`
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      await this.#git.run({ args: ['init', '--bare', '--quiet', '--template=', '--', newFolder], timeoutMs: 15_000, abort })
      await remove(gitFolder)
      await rename(newFolder, gitFolder)
    } finally {
      await remove(newFolder)
    }
  }
}

const remove = (path: string) => rm(path, { recursive: true, force: true })

/**
 * Removes lock files that a killed git process left, which would stop every later one. The mutex guarantees that no other
 * process works here. Incomplete packs are removed, since they fill the disk.
 */
async function removeLeftovers(gitFolder: string): Promise<void> {
  for (const name of await readdir(gitFolder, { recursive: true })) {
    if (name.endsWith('.lock') || /(^|\/)tmp_/.test(name)) await remove(join(gitFolder, name))
  }
}

async function isOverLimits(gitFolder: string): Promise<boolean> {
  const folder = join(gitFolder, 'objects', 'pack')
  const names = await readdir(folder).catch(() => [])
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  return names.filter((name) => name.endsWith('.pack')).length > maxPacks || bytes > maxBytes
}
