/**
 * What servers and frameworks do to a path before they compare it, one step each. Paths are bytes, one to a character; a step
 * that changes nothing gives back what it got.
 */
export type PathStep = (path: string) => string

/** Escapes; also `%u0061`, as IIS has it. */
export const decodeAll: PathStep = (path) => {
  if (!path.includes('%')) return path
  const plain = path.replaceAll(/%[0-9a-f]{2}/gi, character)
  return plain.includes('%u') ? plain.replaceAll(/%u[0-9a-f]{4}/gi, wideCharacter) : plain
}

/** Escaped slashes stay, as with routers that split first. */
const decodeAllButSlashes: PathStep = (path) =>
  /%(?:2f|5c)/i.test(path) ? path.replaceAll(/%(?!2f|5c)[0-9a-f]{2}/gi, character) : path

/** What RFC 3986 calls a normal form: only what never needed an escape. */
const decodeUnreserved: PathStep = (path) =>
  /%(?:2[0-9a-cf]|3[a-f]|40|5[b-e]|[01]|7f)/i.test(path)
    ? path.replaceAll(/%(?:2[de]|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])/gi, character)
    : path

const character = (written: string) => String.fromCharCode(Number.parseInt(written.slice(1), 16))
const wideCharacter = (written: string) => utf8Bytes(String.fromCharCode(Number.parseInt(written.slice(2), 16)))

/** ASCII written in two or three bytes, which old decoders of UTF-8 take. */
const decodeOverlong: PathStep = (path) =>
  path
    .replaceAll(/([\xc0\xc1])([\x80-\xbf])/g, (_, first: string, second: string) => joined(first, second))
    .replaceAll(/\xe0([\x80\x81])([\x80-\xbf])/g, (_, first: string, second: string) => joined(first, second))

const joined = (first: string, second: string) =>
  String.fromCharCode(((first.charCodeAt(0) & 1) << 6) | (second.charCodeAt(0) & 63))

/** Bytes that are no UTF-8 are left out by decoders that are told to ignore errors. */
const dropInvalid: PathStep = (path) => (isAscii(path) ? path : utf8Bytes(utf8Text(path).replaceAll('\ufffd', '')))

/** Full-width letters and dots become the plain ones. */
const compose: PathStep = (path) => (isAscii(path) ? path : utf8Bytes(utf8Text(path).normalize('NFKC')))

const cutFragment: PathStep = (path) => cutAt(path, '#')
const cutNul: PathStep = (path) => cutAt(path, '\0')
/** Address parsers of browsers, and filters of input, leave control characters out. */
const dropControls: PathStep = (path) => (/[\0-\x1f\x7f]/.test(path) ? path.replaceAll(/[\0-\x1f\x7f]/g, '') : path)
/** A query whose mark was escaped. */
const cutQuery: PathStep = (path) => cutAt(path, '?')
/** Path parameters (`/admin;x=1`): Java servers route without them. */
const dropParameters: PathStep = (path) => (path.includes(';') ? path.replaceAll(/;[^/]*/g, '') : path)
const turnSlashes: PathStep = (path) => path.replaceAll('\\', '/')
const collapseSlashes: PathStep = (path) => (path.includes('//') ? path.replaceAll(/\/{2,}/g, '/') : path)
/** `//x/admin` against a base address: x is the host, the path is `/admin`. */
const dropAuthority: PathStep = (path) => (path.startsWith('//') ? path.replace(/^\/{2,}[^/]*/, '') || '/' : path)
/** `/index.php/admin`: what is behind the program is the path that its router sees. */
const dropProgram: PathStep = (path) => {
  const found = /\.(?:php\d?|phtml|f?cgi)\//i.exec(path)
  return found ? path.slice(found.index + found[0].length - 1) : path
}
/** What a page shows, without the page: `/_next/data/<build>/admin.json` is `/admin`, as Next has it, and Gatsby's likewise. */
const pageOfData: PathStep = (path) => {
  const [, page] = /^\/(?:_next\/data\/[^/]+|page-data)(\/.*)$/is.exec(path) ?? []
  return page ? page.replace(/(?:\/page-data)?\.json$/i, '') || '/' : path
}
/** Windows does not see dots and blanks at the end of a name. */
const trimNames: PathStep = (path) => (/[ .\t](?:\/|$)|\/[ \t]/.test(path) ? path.split('/').map(trimmedName).join('/') : path)

function trimmedName(name: string): string {
  const text = withoutEnd(name.replace(/^[ \t]+/, ''), ' \t')
  return /^\.*$/.test(text) ? text : withoutEnd(text, '. \t')
}

/** An expression that ends with `$` would start again at each of them: a name of blanks and dots alone took seconds. */
function withoutEnd(text: string, signs: string): string {
  let end = text.length
  while (end > 0 && signs.includes(text[end - 1]!)) end -= 1
  return text.slice(0, end)
}

/** Dot segments as RFC 3986 resolves them; with doubled slashes and without is for the other steps to say. */
const resolveDots: PathStep = (path) => {
  if (!/(?:^|\/)\.\.?(?:\/|$)/.test(path)) return path
  const kept: string[] = []
  const segments = path.split('/').slice(path.startsWith('/') ? 1 : 0)
  for (const [at, segment] of segments.entries()) {
    if (segment === '..') kept.pop()
    else if (segment !== '.') kept.push(segment)
    if ((segment === '.' || segment === '..') && at === segments.length - 1) kept.push('')
  }
  return `/${kept.join('/')}`
}

export const pathSteps: readonly PathStep[] = [
  decodeAll,
  resolveDots,
  collapseSlashes,
  decodeAllButSlashes,
  decodeUnreserved,
  decodeOverlong,
  dropInvalid,
  compose,
  cutFragment,
  cutNul,
  dropControls,
  cutQuery,
  dropParameters,
  turnSlashes,
  dropAuthority,
  dropProgram,
  pageOfData,
  trimNames,
]

function cutAt(path: string, mark: string): string {
  const at = path.indexOf(mark)
  return at === -1 ? path : path.slice(0, at)
}

const isAscii = (text: string) => !/[\x80-\uffff]/.test(text)
export const utf8Text = (bytes: string) => Buffer.from(bytes, 'latin1').toString('utf8')
export const utf8Bytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1')
