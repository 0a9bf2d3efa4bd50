export interface Representation {
  etag: string
  modifiedMs: number
}

/** Whether to respond with 304: by If-None-Match if sent (weak comparison), otherwise by If-Modified-Since, to the second. */
export function isUnchanged(file: Representation, ifNoneMatch: string | undefined, ifModifiedSince: string | undefined): boolean {
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch.trim() === '*') return true
    return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === file.etag.replace(/^W\//, ''))
  }
  if (ifModifiedSince === undefined) return false
  const since = Date.parse(ifModifiedSince)
  return !Number.isNaN(since) && Math.floor(file.modifiedMs / 1000) * 1000 <= since
}

/** Whether a range may be sent: always without If-Range, otherwise only if the client's copy is unchanged (strong comparison). */
export function mayResume(file: Representation, ifRange: string | undefined): boolean {
  if (ifRange === undefined) return true
  if (ifRange.startsWith('"')) return ifRange === file.etag
  const date = Date.parse(ifRange)
  return !Number.isNaN(date) && Math.floor(file.modifiedMs / 1000) * 1000 === date
}

/** First and last byte. `whole`: send the whole file, also for several ranges; `unsatisfiable`: respond with 416. */
export function byteRange(header: string | undefined, size: number): { first: number; last: number } | 'whole' | 'unsatisfiable' {
  const range = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '')
  if (!range || (range[1] === '' && range[2] === '')) return 'whole'
  if (range[1] === '') {
    const length = Number(range[2])
    if (length === 0 || size === 0) return 'unsatisfiable'
    return { first: Math.max(0, size - length), last: size - 1 }
  }
  const first = Number(range[1])
  const last = range[2] === '' ? size - 1 : Math.min(Number(range[2]), size - 1)
  if (range[2] !== '' && Number(range[2]) < first) return 'whole'
  return first >= size ? 'unsatisfiable' : { first, last }
}
