/** The parsed address when it is one of the web, else null. */
export function webUrl(text: string | undefined): URL | null {
  const url = text === undefined ? null : URL.parse(text)
  return url && (url.protocol === 'http:' || url.protocol === 'https:') ? url : null
}

/** What may stand in a message as a link; other schemes could run something in the reader's client. */
export const webLink = (text: string | undefined): string | undefined => webUrl(text)?.href
