/** More bytes were sent than a tarball may have. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge'
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`The archive is larger than ${megabytes(maxBytes)} MB`)
    this.maxBytes = maxBytes
  }
}

/** One entry makes the archive unacceptable; nothing of it is kept. */
export class BadEntry extends Error {
  override readonly name = 'BadEntry'
  readonly entry: string
  readonly reason: string

  constructor(entry: string, reason: string) {
    super(`"${printable(entry)}" ${printable(reason)}`)
    this.entry = entry
    this.reason = reason
  }
}

/** The bytes are no whole gzip-compressed tar archive. */
export class BadArchive extends Error {
  override readonly name = 'BadArchive'

  constructor(reason: string, cause?: unknown) {
    super(`The archive ${printable(reason)}`, { cause })
  }
}

export const megabytes = (bytes: number) => Math.round(bytes / 1_000_000)

/** Names come from strangers and end up in terminals and logs. */
function printable(name: string): string {
  const shown = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD')
  return shown.length > 200 ? `${shown.slice(0, 100)}…${shown.slice(-99)}` : shown
}
