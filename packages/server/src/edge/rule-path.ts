/**
 * The path as a server behind the edge may understand it: escapes decoded, slashes collapsed, dot segments resolved.
 * Rules compare with it too, so that `/x/..//%61dmin` does not get around a rule on `/admin`.
 */
export function understoodPath(target: string): string {
  const query = target.indexOf('?')
  const path = query === -1 ? target : target.slice(0, query)
  if (!doubtful.test(path)) return path
  const kept: string[] = []
  const segments = decoded(path).replaceAll('\\', '/').split('/')
  for (const segment of segments) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') kept.pop()
    else kept.push(segment)
  }
  const last = segments.at(-1)
  const trailing = kept.length > 0 && (last === '' || last === '.' || last === '..') ? '/' : ''
  return `/${kept.join('/')}${trailing}`
}

const doubtful = /%|\/\/|\/\.|\\|;/

/** Path parameters (`/admin;x=1`) are cut off too: Java servers route without them. */
function decoded(path: string): string {
  const plain = path.replaceAll(/;[^/]*/g, '')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  }
}
