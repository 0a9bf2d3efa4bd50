import { StringDecoder } from 'node:string_decoder'
import { type ListingBounds, listingBounds, listingTooLong } from './listing-bounds.ts'
import { StoreFailure } from './store-failure.ts'

/** Fields of one entry, or of the page itself, as in the response. */
export type S3Fields = ReadonlyMap<string, string>

export interface S3Page {
  entries: S3Fields[]
  /** Fields outside the entries: whether there is another page, and its continuation token. */
  page: S3Fields
}

/** Limit of one entry; a key has at most 1,024 bytes. */
const maxEntryCharacters = 16 * 1024
const maxPageCharacters = 64 * 1024
const maxEntries = 10_000

/**
 * Reads one page of an S3 listing as a stream, one entry at a time: the library's own parser parses the whole response at once,
 * on the thread that serves requests. `element` is the name of an entry, `wanted` the fields to keep.
 */
export async function readS3Page(
  body: AsyncIterable<Uint8Array>,
  element: 'Contents' | 'Upload',
  wanted: readonly string[],
  { pageBytes }: ListingBounds = listingBounds,
): Promise<S3Page> {
  const decoder = new StringDecoder('utf8')
  const entries: S3Fields[] = []
  const [opening, closing] = [`<${element}>`, `</${element}>`]
  let outside = ''
  let rest = ''
  let bytes = 0

  const parseEntries = () => {
    let at = 0
    for (;;) {
      const start = rest.indexOf(opening, at)
      // The beginning of a tag may be at the end of the text.
      const until = start < 0 ? Math.max(at, rest.length - opening.length) : start
      outside += rest.slice(at, until)
      if (outside.length > maxPageCharacters) throw unreadable()
      at = until
      const end = start < 0 ? -1 : rest.indexOf(closing, start)
      if (end < 0) break
      entries.push(fieldsIn(rest.slice(start + opening.length, end), wanted))
      if (entries.length > maxEntries) throw listingTooLong(`${maxEntries} names in a page`)
      at = end + closing.length
    }
    rest = rest.slice(at)
    if (rest.length > maxEntryCharacters) throw unreadable()
  }

  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > pageBytes) throw listingTooLong(`${pageBytes / 1024 / 1024} MB in a page`)
    rest += decoder.write(chunk as Buffer)
    parseEntries()
  }
  return { entries, page: fieldsIn(outside + rest, pageFields) }
}

const pageFields = ['IsTruncated', 'NextContinuationToken', 'NextKeyMarker', 'NextUploadIdMarker']

const unreadable = () => new StoreFailure('other', 'S3 returned an invalid listing')

function fieldsIn(text: string, wanted: readonly string[]): S3Fields {
  const fields = new Map<string, string>()
  for (const name of wanted) {
    const start = text.indexOf(`<${name}>`)
    const end = start < 0 ? -1 : text.indexOf(`</${name}>`, start)
    if (end >= 0) fields.set(name, plainText(text.slice(start + name.length + 2, end)))
  }
  return fields
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Returns a copy: a slice would keep the whole text in memory. */
const plainText = (text: string): string =>
  Buffer.from(
    text.replace(
      /&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/g,
      (_, hex?: string, decimal?: string, name = '') => {
        const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
        return name ? entities[name]! : code <= 0x10ffff ? String.fromCodePoint(code) : ''
      },
    ),
  ).toString()
