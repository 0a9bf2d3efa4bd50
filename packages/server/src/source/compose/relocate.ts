import { posix } from 'node:path'
import { leadsOutside } from '../leads-outside.ts'
import { isMapping } from './values.ts'

/**
 * Rewrites the paths of a service from an extended file, which are relative to that file, to be relative to the stack's folder;
 * `folder` is the path from there to the file's folder.
 */
export function relocate(service: unknown, folder: string): unknown {
  if (!isMapping(service) || folder === '') return service
  const entries = Object.entries(service).map(([key, value]) => [
    key,
    Object.hasOwn(relocators, key) ? relocators[key]!(value, folder) : value,
  ])
  return Object.fromEntries(entries)
}

type Relocator = (value: unknown, folder: string) => unknown

const each =
  (move: Relocator): Relocator =>
  (value, folder) =>
    Array.isArray(value) ? value.map((item) => move(item, folder)) : move(value, folder)

const relocators: Record<string, Relocator> = {
  build: (value, folder) =>
    isMapping(value) ? { ...value, context: relocatePath(value.context ?? '.', folder) } : relocatePath(value, folder),
  env_file: each((value, folder) =>
    isMapping(value) ? { ...value, path: relocatePath(value.path, folder) } : relocatePath(value, folder),
  ),
  label_file: each(relocatePath),
  volumes: each((value, folder) => {
    if (isMapping(value)) return value.type === 'bind' ? { ...value, source: relocatePath(value.source, folder) } : value
    // Any other source is a volume name or an absolute path.
    const [, source, rest] = typeof value === 'string' ? (/^(\.[^:]*)(:.*)$/s.exec(value) ?? []) : []
    return source === undefined ? value : `${relocatePath(source, folder)}${rest}`
  }),
}

/** Absolute paths, home paths and URLs stay as they are. */
const nonRelative = /^(?:[/~\\]|[a-z][a-z0-9+.-]*:|git@|github\.com\/)/i

function relocatePath(value: unknown, folder: string): unknown {
  if (typeof value !== 'string' || value === '' || nonRelative.test(value)) return value
  const joined = posix.join(folder, value)
  return leadsOutside(joined) ? joined : `./${joined}`
}
