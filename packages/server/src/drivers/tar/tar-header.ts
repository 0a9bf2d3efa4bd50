/**
 * Headers of tar archives. Names are strings with one character per byte (latin1): on Linux a name is any bytes, and decoding
 * it as text and encoding it again would change it. `asText` is for display.
 */
export const block = 512

/** The bytes are not a tar archive, or a damaged or incomplete one. */
export class TarError extends Error {
  override readonly name = 'TarError'
  /** The archive ends too early. */
  readonly isCutOff: boolean

  constructor(message: string, { isCutOff = false } = {}) {
    super(message)
    this.isCutOff = isCutOff
  }
}

export interface TarHeader {
  name: string
  type: TarType
  size: number
  mode: number
  uid: number
  gid: number
  mtime: Date
  linkname: string
  /** Size of a sparse file, whose content is a map of its data and the data. See `sparse-content.ts`. */
  sparse?: { realSize: number }
  /** Stored as a sparse file, possibly in a version of the format that is not supported. */
  isSparse?: true
}

const types = {
  0: 'file',
  1: 'link',
  2: 'symlink',
  3: 'character-device',
  4: 'block-device',
  5: 'directory',
  6: 'fifo',
  7: 'contiguous-file',
} as const
export type TarType = (typeof types)[keyof typeof types] | 'other'

export const asText = (name: string): string => Buffer.from(name, 'latin1').toString('utf8')
/** The name of an entry, from text. */
export const fromText = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
export const asBytes = (name: string): Buffer => Buffer.from(name, 'latin1')

/** Null: an empty block, as at the end. Throws when the bytes are not a header. */
export function decodeHeader(bytes: Buffer): (TarHeader & { flag: string }) | null {
  const sum = checksum(bytes)
  if (sum === emptyBlockChecksum) return null
  if (sum !== numberAt(bytes, 148, 8))
    throw new TarError('This is not a tar archive, or it is damaged: a header checksum does not match')
  const magic = bytes.toString('latin1', 257, 265)
  if (!magic.startsWith('ustar\0') && magic !== 'ustar  \0') throw new TarError('This tar archive is of an unknown format')
  const flag = bytes[156] === 0 ? '0' : String.fromCharCode(bytes[156]!)
  const prefix = magic.startsWith('ustar\0') ? textAt(bytes, 345, 155) : ''
  const name = textAt(bytes, 0, 100)
  return {
    flag,
    name: prefix ? `${prefix}/${name}` : name,
    type: types[flag as unknown as keyof typeof types] ?? 'other',
    size: numberAt(bytes, 124, 12),
    mode: numberAt(bytes, 100, 8),
    uid: numberAt(bytes, 108, 8),
    gid: numberAt(bytes, 116, 8),
    mtime: new Date(numberAt(bytes, 136, 12) * 1000),
    linkname: textAt(bytes, 157, 100),
  }
}

/** The header, preceded by an extended one where a name does not fit. */
export function encodeHeader(header: TarHeader): Buffer {
  const name = header.type === 'directory' && !header.name.endsWith('/') ? `${header.name}/` : header.name
  const { linkname, sparse } = header
  const isPlain = (text: string) => text.length <= 100 && !/[^\0-\x7f]/.test(text)
  if (isPlain(name) && isPlain(linkname) && !sparse) return ustar({ ...header, name })
  const records = `${record('path', name)}${linkname ? record('linkpath', linkname) : ''}${sparse ? sparseRecords(name, sparse) : ''}`
  const extended = ustar({ ...header, name: 'PaxHeader', linkname: '', size: records.length }, 'x')
  const filled = Buffer.alloc(Math.ceil(records.length / block) * block)
  filled.write(records, 'latin1')
  return Buffer.concat([extended, filled, ustar({ ...header, name: 'PaxHeader', linkname: linkname && 'PaxHeader' })])
}

/** Only these records are kept: an archive may have any number of others, and global ones apply until its end. */
const readKeys = new Set([
  'path',
  'linkpath',
  'size',
  'uid',
  'gid',
  'GNU.sparse.major',
  'GNU.sparse.minor',
  'GNU.sparse.realsize',
  'GNU.sparse.name',
])

/** Parses `key=value` lines, each with its own length in front. */
export function decodeRecords(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>()
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at)
    if (space === -1) break
    const length = Number(bytes.toString('latin1', at, space))
    const end = at + length
    if (!Number.isSafeInteger(length) || end <= space || end > bytes.length) break
    const text = bytes.toString('latin1', space + 1, end - 1)
    const equals = text.indexOf('=')
    const key = text.slice(0, Math.max(0, equals))
    if (readKeys.has(key)) records.set(key, text.slice(equals + 1))
    else if (key.startsWith('GNU.sparse')) records.set('GNU.sparse', '')
    at = end
  }
  return records
}

/** Version 1.0 of the GNU sparse format, which GNU tar, BSD tar and Go can read. */
const sparseRecords = (name: string, { realSize }: { realSize: number }): string =>
  [
    record('GNU.sparse.major', '1'),
    record('GNU.sparse.minor', '0'),
    record('GNU.sparse.name', name),
    record('GNU.sparse.realsize', String(realSize)),
  ].join('')

function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  let length = rest.length
  while (length !== rest.length + String(length).length) length = rest.length + String(length).length
  return `${length}${rest}`
}

function ustar(header: TarHeader, flag?: string): Buffer {
  const bytes = Buffer.alloc(block)
  bytes.write(header.name, 0, 100, 'latin1')
  writeNumber(bytes, header.mode & 0o7777, 100, 8)
  writeNumber(bytes, header.uid, 108, 8)
  writeNumber(bytes, header.gid, 116, 8)
  writeNumber(bytes, header.size, 124, 12)
  writeNumber(bytes, Math.max(0, Math.floor(header.mtime.getTime() / 1000) || 0), 136, 12)
  bytes.write(flag ?? Object.entries(types).find(([, type]) => type === header.type)?.[0] ?? '0', 156, 'latin1')
  bytes.write(header.linkname, 157, 100, 'latin1')
  bytes.write('ustar\0', 257, 'latin1')
  bytes.write('00', 263, 'latin1')
  writeNumber(bytes, 0, 329, 8)
  writeNumber(bytes, 0, 337, 8)
  writeNumber(bytes, checksum(bytes), 148, 8)
  return bytes
}

/** Padding after an entry's content. */
export const paddingAfter = (size: number): Buffer => Buffer.alloc(Math.ceil(size / block) * block - size)
export const tarEnd = Buffer.alloc(2 * block)

/** Checksum of a block of zeros: the field of the checksum counts as eight spaces. */
const emptyBlockChecksum = 8 * 32

function checksum(bytes: Buffer): number {
  let sum = emptyBlockChecksum
  for (let at = 0; at < 148; at += 1) sum += bytes[at]!
  for (let at = 156; at < block; at += 1) sum += bytes[at]!
  return sum
}

/** Writes octal digits, or base 256 where they do not fit. */
function writeNumber(bytes: Buffer, number: number, at: number, length: number): void {
  const digits = number.toString(8).padStart(length === 12 ? 11 : 6, '0')
  if (digits.length < length) bytes.write(`${digits} `, at, 'latin1')
  else {
    bytes[at] = 0x80
    bytes.writeUIntBE(number, at + length - 6, 6)
  }
}

function numberAt(bytes: Buffer, at: number, length: number): number {
  if (bytes[at] === 0x80) {
    const high = bytes.subarray(at + 1, at + length - 6)
    return high.some((byte) => byte !== 0) ? Number.NaN : bytes.readUIntBE(at + length - 6, 6)
  }
  const digits = bytes
    .toString('latin1', at, at + length)
    .replace(/[\0 ]+$/, '')
    .replace(/^[\0 ]+/, '')
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || '0', 8) : Number.NaN
}

function textAt(bytes: Buffer, at: number, length: number): string {
  const text = bytes.toString('latin1', at, at + length)
  const end = text.indexOf('\0')
  return end === -1 ? text : text.slice(0, end)
}
