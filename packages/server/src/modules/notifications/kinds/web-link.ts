/** The parsed URL if its scheme is http or https, else null. */
export function webUrl(text: string | undefined): URL | null {
  const url = text === undefined ? null : URL.parse(text)
  return url && (url.protocol === 'http:' || url.protocol === 'https:') ? url : null
}

/** An http(s) URL for use as a link; other schemes could run code in the reader's client. */
export const webLink = (text: string | undefined): string | undefined => webUrl(text)?.href
