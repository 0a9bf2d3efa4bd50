/**
 * A transformation that servers and frameworks apply to a path before they compare it. Paths are byte strings, one byte per
 * character; a step that changes nothing returns its input.
 */
export type PathStep = (path: string) => string

/** Decodes escapes, including `%u0061` as in IIS. */
export const decodeAll: PathStep = (path) => {
  if (!path.includes('%')) return path
  const plain = path.replaceAll(/%[0-9a-f]{2}/gi, decodeByte)
  return plain.includes('%u') ? plain.replaceAll(/%u[0-9a-f]{4}/gi, decodeWideCharacter) : plain
}

/** Decodes escapes except slashes, as routers do that split first. */
const decodeAllButSlashes: PathStep = (path) =>
  /%(?:2f|5c)/i.test(path) ? path.replaceAll(/%(?!2f|5c)[0-9a-f]{2}/gi, decodeByte) : path

/** Decodes unreserved characters only, the normal form of RFC 3986. */
const decodeUnreserved: PathStep = (path) =>
  /%(?:2[0-9a-cf]|3[a-f]|40|5[b-e]|[01]|7f)/i.test(path)
    ? path.replaceAll(/%(?:2[de]|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])/gi, decodeByte)
    : path

const decodeByte = (written: string) => String.fromCharCode(Number.parseInt(written.slice(1), 16))
const decodeWideCharacter = (written: string) => utf8Bytes(String.fromCharCode(Number.parseInt(written.slice(2), 16)))

/** Decodes ASCII encoded in two or three bytes, which old UTF-8 decoders accept. */
const decodeOverlong: PathStep = (path) =>
  path
    .replaceAll(/([\xc0\xc1])([\x80-\xbf])/g, (_, first: string, second: string) => decodeTwoBytes(first, second))
    .replaceAll(/\xe0([\x80\x81])([\x80-\xbf])/g, (_, first: string, second: string) => decodeTwoBytes(first, second))

const decodeTwoBytes = (first: string, second: string) =>
  String.fromCharCode(((first.charCodeAt(0) & 1) << 6) | (second.charCodeAt(0) & 63))

/** Drops bytes that are not UTF-8, as decoders do that ignore errors. */
const dropInvalid: PathStep = (path) => (isAscii(path) ? path : utf8Bytes(utf8Text(path).replaceAll('\ufffd', '')))

/** Replaces full-width letters and dots by the ASCII ones. */
const normalizeCompatibility: PathStep = (path) => (isAscii(path) ? path : utf8Bytes(utf8Text(path).normalize('NFKC')))

const cutFragment: PathStep = (path) => cutAt(path, '#')
const cutNul: PathStep = (path) => cutAt(path, '\0')
/** Drops control characters, as browsers' URL parsers and input filters do. */
const dropControls: PathStep = (path) => (/[\0-\x1f\x7f]/.test(path) ? path.replaceAll(/[\0-\x1f\x7f]/g, '') : path)
/** Cuts a query whose question mark was escaped. */
const cutQuery: PathStep = (path) => cutAt(path, '?')
/** Drops path parameters (`/admin;x=1`): Java servers route without them. */
const dropParameters: PathStep = (path) => (path.includes(';') ? path.replaceAll(/;[^/]*/g, '') : path)
const backslashesToSlashes: PathStep = (path) => path.replaceAll('\\', '/')
const collapseSlashes: PathStep = (path) => (path.includes('//') ? path.replaceAll(/\/{2,}/g, '/') : path)
/** Resolves `//x/admin` against a base URL: x is the host, the path is `/admin`. */
const dropAuthority: PathStep = (path) => (path.startsWith('//') ? path.replace(/^\/{2,}[^/]*/, '') || '/' : path)
/** `/index.php/admin`: the router of the program sees the path after the program. */
const dropProgram: PathStep = (path) => {
  const found = /\.(?:php\d?|phtml|f?cgi)\//i.exec(path)
  return found ? path.slice(found.index + found[0].length - 1) : path
}
/** The page whose data is requested: `/_next/data/<build>/admin.json` is `/admin` in Next, and likewise in Gatsby. */
const pageOfData: PathStep = (path) => {
  const [, page] = /^\/(?:_next\/data\/[^/]+|page-data)(\/.*)$/is.exec(path) ?? []
  return page ? page.replace(/(?:\/page-data)?\.json$/i, '') || '/' : path
}
/** Drops dots and blanks at the end of a name, which Windows ignores. */
const trimNames: PathStep = (path) => (/[ .\t](?:\/|$)|\/[ \t]/.test(path) ? path.split('/').map(trimmedName).join('/') : path)

function trimmedName(name: string): string {
  const text = withoutEnd(name.replace(/^[ \t]+/, ''), ' \t')
  return /^\.*$/.test(text) ? text : withoutEnd(text, '. \t')
}

/**
 * A loop, since a regular expression that ends with `$` would restart at each character: a name of only blanks and dots took
 * seconds.
 */
function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1]!)) end -= 1
  return text.slice(0, end)
}

/** Resolves dot segments as in RFC 3986; other steps cover the variants with and without doubled slashes. */
const resolveDots: PathStep = (path) => {
  if (!/(?:^|\/)\.\.?(?:\/|$)/.test(path)) return path
  const resolved: string[] = []
  const segments = path.split('/').slice(path.startsWith('/') ? 1 : 0)
  for (const [at, segment] of segments.entries()) {
    if (segment === '..') resolved.pop()
    else if (segment !== '.') resolved.push(segment)
    if ((segment === '.' || segment === '..') && at === segments.length - 1) resolved.push('')
  }
  return `/${resolved.join('/')}`
}

export const pathSteps: readonly PathStep[] = [
  decodeAll,
  resolveDots,
  collapseSlashes,
  decodeAllButSlashes,
  decodeUnreserved,
  decodeOverlong,
  dropInvalid,
  normalizeCompatibility,
  cutFragment,
  cutNul,
  dropControls,
  cutQuery,
  dropParameters,
  backslashesToSlashes,
  dropAuthority,
  dropProgram,
  pageOfData,
  trimNames,
]

function cutAt(path: string, separator: string): string {
  const at = path.indexOf(separator)
  return at === -1 ? path : path.slice(0, at)
}

const isAscii = (text: string) => !/[\x80-\uffff]/.test(text)
export const utf8Text = (bytes: string) => Buffer.from(bytes, 'latin1').toString('utf8')
export const utf8Bytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1')
