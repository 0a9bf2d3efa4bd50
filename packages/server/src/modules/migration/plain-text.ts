/** Control characters and direction marks: a name must not move a terminal's cursor or hide its end. */
const unseen = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

const maxLength = 1000

/** Sanitizes a text of a server for display: invisible characters are replaced, and long texts are truncated. */
export function plainText(text: string): string {
  const short = text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
  return short.replace(unseen, '\ufffd')
}

export function plainRecord(record: Record<string, string>, max = 200): Record<string, string> {
  const shown: [string, string][] = []
  for (const key in record) {
    if (shown.length === max) break
    shown.push([plainText(key), plainText(record[key] as string)])
  }
  return Object.fromEntries(shown)
}
