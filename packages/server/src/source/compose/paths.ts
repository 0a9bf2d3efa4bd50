import { posix } from 'node:path'
import { leadsOutside } from '../leads-outside.ts'
import { type Location, refuse } from './location.ts'

/** The path from the project's root, or `null` with a refusal when it leaves the project. `subject` starts the message. */
export function projectPath(path: string, subject: string, location: Location): string | null {
  const inside = insideProject(path, location)
  if (inside === null) refuse(location, `${subject} "${path}" lies outside the project`)
  return inside
}

function insideProject(path: string, { reading }: Location): string | null {
  // A backslash separates folders on other systems; no project needs one in a name.
  if (path === '' || path.startsWith('~') || /[\\\0]/.test(path) || /^[a-z]:/i.test(path)) return null
  const absolute = posix.isAbsolute(path) ? posix.normalize(path) : posix.join(reading.folder, reading.directory, path)
  const relative = posix.relative(posix.normalize(reading.folder), absolute)
  return leadsOutside(relative) ? null : relative || '.'
}
