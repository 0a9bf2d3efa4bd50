import { realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** The message does not disclose whether the folder exists: outside the roots, existing and missing folders look the same. */
export class FolderOutside extends Error {
  override readonly name = 'FolderOutside'
  readonly path: string

  constructor(path: string) {
    super(`${path} is not inside a folder that Berth may read`)
    this.path = path
  }
}

export class FolderMissing extends Error {
  override readonly name = 'FolderMissing'
  readonly path: string

  constructor(path: string) {
    super(`${path} does not exist`)
    this.path = path
  }
}

export class NotAFolder extends Error {
  override readonly name = 'NotAFolder'
  readonly path: string

  constructor(path: string) {
    super(`${path} is not a folder`)
    this.path = path
  }
}

export class FolderUnreadable extends Error {
  override readonly name = 'FolderUnreadable'
  readonly path: string

  constructor(path: string, cause: unknown) {
    super(`${path} cannot be read by Berth`, { cause })
    this.path = path
  }
}

/** The folders of the machine that may be read. */
export interface LocalRoots {
  /** Folders below these may be read. */
  roots: readonly string[]
  /** Data folder: it, its content and its parents may not be read; only its `projects` may be a root. */
  dataDir: string
}

/**
 * Returns the real path of a folder below one of the roots, with all symlinks resolved. Rejects a root itself, and folders whose
 * name begins with a dot. Callers must use the result, not the given path: symlinks may change.
 */
export async function resolveAllowed(path: string, local: LocalRoots): Promise<string> {
  if (!isAbsolute(path) || path.includes('\0')) throw new FolderOutside(path)
  const isAllowed = await allowedPredicate(local)
  const real = await realpath(path).catch((error) => explainFailure(path, error, isAllowed))
  if (!isAllowed(real)) throw new FolderOutside(path)
  if (!(await stat(real)).isDirectory()) throw new NotAFolder(path)
  return real
}

/** Returns a predicate of readable real paths, by the machine's current symlinks. */
export async function allowedPredicate({ roots, dataDir }: LocalRoots): Promise<(real: string) => boolean> {
  const realRoots = await realPathsOf(roots)
  const [dataFolder = resolve(dataDir)] = await realPathsOf([dataDir])
  const isDataFolder = (real: string) =>
    real === dataFolder || (isBelow(real, dataFolder) && !isBelow(real, join(dataFolder, 'projects')))
  return (real) =>
    !isDataFolder(real) &&
    !isBelow(dataFolder, real) &&
    realRoots.some((root) => isBelow(real, root) && !hasDotFolder(relative(root, real)))
}

const hasDotFolder = (path: string): boolean => path.split(sep).some((part) => part.startsWith('.'))

/** Both are real paths. /home/ab is not below /home/a. */
function isBelow(path: string, root: string): boolean {
  return path !== root && path.startsWith(root.endsWith(sep) ? root : root + sep)
}

async function realPathsOf(roots: readonly string[]): Promise<string[]> {
  const paths = await Promise.all(roots.map((root) => realpath(root).catch(() => null)))
  return paths.filter((root) => root !== null)
}

/** Names the error of a path below the roots; all other paths get the same error. */
async function explainFailure(path: string, error: unknown, isAllowed: (real: string) => boolean): Promise<never> {
  const nearest = await nearestExisting(dirname(resolve(path)))
  // The nearest folder may be a root: it is not allowed itself, but a folder in it is.
  if (!isAllowed(nearest) && !isAllowed(join(nearest, 'any'))) throw new FolderOutside(path)
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') throw new FolderMissing(path)
  if (code === 'ENOTDIR') throw new NotAFolder(path)
  throw new FolderUnreadable(path, error)
}

async function nearestExisting(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null)
  if (real !== null || path === dirname(path)) return real ?? path
  return nearestExisting(dirname(path))
}
