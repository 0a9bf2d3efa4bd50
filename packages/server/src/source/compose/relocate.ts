import { posix } from 'node:path'
import { isMapping } from './values.ts'

/**
 * Rewrites the paths of a service from an extended file, which are relative to that file, to be relative to the stack's folder;
 * `folder` is the path from there to the file's folder.
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
    // Any other source is a volume name or an absolute path.
    const [, source, rest] = typeof value === 'string' ? (/^(\.[^:]*)(:.*)$/s.exec(value) ?? []) : []
    return source === undefined ? value : `${path(source, folder)}${rest}`
  }),
}

/** Absolute paths, home paths and URLs stay as they are. */
const isWhole = /^(?:[/~\\]|[a-z][a-z0-9+.-]*:|git@|github\.com\/)/i

function path(value: unknown, folder: string): unknown {
  if (typeof value !== 'string' || value === '' || isWhole.test(value)) return value
  const joined = posix.join(folder, value)
  return joined.startsWith('..') ? joined : `./${joined}`
}
