/**
 * The requested path below the site's folder, without a leading slash. Undefined for a path that must not be served: invalid
 * escapes, dot segments after decoding, hidden files (except `.well-known`), NUL, backslashes.
 */
export function sitePath(target: string): string | undefined {
  const query = target.search(/[?#]/)
  const decoded = decode(query === -1 ? target : target.slice(0, query))
  if (decoded === undefined || !decoded.startsWith('/') || /[\0\\]/.test(decoded)) return undefined
  const segments = decoded.split('/').slice(1)
  const isHidden = segments.some((segment, at) => segment.startsWith('.') && !(at === 0 && segment === '.well-known'))
  if (isHidden) return undefined
  const inner = segments.slice(0, -1)
  return inner.includes('') ? undefined : segments.join('/')
}

/** Files to try for a path, in order: `/about` is `about`, `about.html` or `about/index.html`. */
export function candidates(path: string): string[] {
  if (path === '') return ['index.html']
  if (path.endsWith('/')) return [`${path}index.html`, `${path.slice(0, -1)}.html`]
  return [path, `${path}.html`, `${path}/index.html`]
}

/** Whether a path without a file may be a page of a single-page application. A missing script or image is not a page. */
export function isPagePath(path: string, accept: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return !/\.[A-Za-z0-9]{1,8}$/.test(name) || /\btext\/html\b/.test(accept)
}

function decode(path: string): string | undefined {
  if (!path.includes('%') && !/[\x80-\xff]/.test(path)) return path
  try {
    // Raw UTF-8 bytes were decoded as latin1.
    return decodeURIComponent(path.replaceAll(/[\x80-\xff]/g, (char) => `%${char.charCodeAt(0).toString(16)}`))
  } catch {
    return undefined
  }
}
