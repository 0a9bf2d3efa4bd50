/**
 * The path below the site's folder that a request names, without a leading slash; undefined when it names nothing that may
 * be served: broken escapes, dot segments after decoding, hidden files (`.well-known` aside), NUL, backslashes.
 */
export function sitePath(target: string): string | undefined {
  const query = target.search(/[?#]/)
  const decoded = decode(query === -1 ? target : target.slice(0, query))
  if (decoded === undefined || !decoded.startsWith('/') || /[\0\\]/.test(decoded)) return undefined
  const segments = decoded.split('/').slice(1)
  const hidden = segments.some((segment, at) => segment.startsWith('.') && !(at === 0 && segment === '.well-known'))
  if (hidden) return undefined
  const inner = segments.slice(0, -1)
  return inner.includes('') ? undefined : segments.join('/')
}

/** Files that may be meant, best first: `/about` is `about`, `about.html` or `about/index.html`. */
export function candidates(path: string): string[] {
  if (path === '') return ['index.html']
  if (path.endsWith('/')) return [`${path}index.html`, `${path.slice(0, -1)}.html`]
  return [path, `${path}.html`, `${path}/index.html`]
}

/** Whether a path that names no file may be a page of a single-page application: a missing script or picture is not. */
export function isPagePath(path: string, accept: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return !/\.[A-Za-z0-9]{1,8}$/.test(name) || /\btext\/html\b/.test(accept)
}

function decode(path: string): string | undefined {
  if (!path.includes('%') && !/[\x80-\xff]/.test(path)) return path
  try {
    // Raw UTF-8 came in as latin1.
    return decodeURIComponent(path.replaceAll(/[\x80-\xff]/g, (char) => `%${char.charCodeAt(0).toString(16)}`))
  } catch {
    return undefined
  }
}
