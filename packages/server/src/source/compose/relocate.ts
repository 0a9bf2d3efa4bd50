import { posix } from 'node:path'
import { isMapping } from './values.ts'

/**
 * A service of a file that is extended: the paths in it count from the folder of that file. Gives it with paths as they count from
 * the stack's folder; `folder` leads from there to the file's.
 */
export function relocated(service: unknown, folder: string): unknown {
  if (!isMapping(service) || folder === '') return service
  const moved = Object.entries(service).map(([key, value]) => [
    key,
    Object.hasOwn(movers, key) ? movers[key]!(value, folder) : value,
  ])
  return Object.fromEntries(moved)
}

type Mover = (value: unknown, folder: string) => unknown

const each =
  (move: Mover): Mover =>
  (value, folder) =>
    Array.isArray(value) ? value.map((item) => move(item, folder)) : move(value, folder)

const movers: Record<string, Mover> = {
  build: (value, folder) => (isMapping(value) ? { ...value, context: path(value.context ?? '.', folder) } : path(value, folder)),
  env_file: each((value, folder) => (isMapping(value) ? { ...value, path: path(value.path, folder) } : path(value, folder))),
  label_file: each(path),
  volumes: each((value, folder) => {
    if (isMapping(value)) return value.type === 'bind' ? { ...value, source: path(value.source, folder) } : value
    // A source that begins otherwise is the name of a volume, or a whole path.
    const [, source, rest] = typeof value === 'string' ? (/^(\.[^:]*)(:.*)$/s.exec(value) ?? []) : []
    return source === undefined ? value : `${path(source, folder)}${rest}`
  }),
}

/** Whole paths, those of somebody's home and addresses are the same everywhere. */
const isWhole = /^(?:[/~\\]|[a-z][a-z0-9+.-]*:|git@|github\.com\/)/i

function path(value: unknown, folder: string): unknown {
  if (typeof value !== 'string' || value === '' || isWhole.test(value)) return value
  const joined = posix.join(folder, value)
  return joined.startsWith('..') ? joined : `./${joined}`
}
