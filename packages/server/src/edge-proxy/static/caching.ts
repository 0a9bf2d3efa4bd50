/**
 * The Cache-Control header of a file. Only files with a content hash in their name are cached for a year. All other files are
 * revalidated each time: a wrongly cached file could not be replaced.
 */
export function cacheControl(path: string): string {
  if (/\.html?$/i.test(path)) return 'no-cache'
  return isHashedName(path.slice(path.lastIndexOf('/') + 1))
    ? 'public, max-age=31536000, immutable'
    : 'public, max-age=0, must-revalidate'
}

/** `app.3f2a9c1b.js`, `index-BkZ3x9aQ.css`; not `photo-20240131.jpg` and not `some-component.js`. */
export function isHashedName(name: string): boolean {
  const hash = /[-._]([A-Za-z0-9_-]{8,64})(?:\.[A-Za-z0-9]{1,10}){1,3}$/.exec(name)?.[1]
  if (!hash) return false
  // In `a-b-c1D2e3F4` the expression matches from the first dash; the hash is the part after the last one.
  return [hash, hash.slice(hash.lastIndexOf('-') + 1)].some(
    (part) =>
      part.length >= 8 &&
      /\d/.test(part) &&
      (/^(?=.*[a-f])[0-9a-f]+$/.test(part) || (/^\w+$/.test(part) && /[a-z]/.test(part) && /[A-Z]/.test(part))),
  )
}
