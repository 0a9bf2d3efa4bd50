/** The client sent more bytes than a tarball may have. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge'
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`The archive is larger than ${megabytes(maxBytes)} MB`)
    this.maxBytes = maxBytes
  }
}

/** An entry that makes the archive invalid; nothing of the archive is kept. */
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

/** The bytes are not a complete gzip-compressed tar archive. */
export class BadArchive extends Error {
  override readonly name = 'BadArchive'

  constructor(reason: string, cause?: unknown) {
    super(`The archive ${printable(reason)}`, { cause })
  }
}

export const megabytes = (bytes: number) => Math.round(bytes / 1_000_000)

/** Names are untrusted, and are shown in terminals and logs. */
function printable(name: string): string {
  const shown = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD')
  return shown.length > 200 ? `${shown.slice(0, 100)}…${shown.slice(-99)}` : shown
}
