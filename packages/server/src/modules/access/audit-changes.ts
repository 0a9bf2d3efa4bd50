/** Maximum length of an entry's changes as JSON: an entry is kept forever, and a page has up to 500 of them. */
export const changesCharacters = 4096

/** Truncation limits, tried in order until the result fits. */
const bounds = [
  { text: 500, items: 50 },
  { text: 100, items: 20 },
  { text: 40, items: 10 },
] as const
const deepest = 8

/** The changes as JSON to store; long texts and lists are truncated and state how much is missing. */
export function changesText(changes: unknown): string {
  const json = JSON.stringify(changes ?? {})
  if (json.length <= changesCharacters) return json
  for (const bound of bounds) {
    const text = JSON.stringify({ ...(shortened(changes, bound, 0) as object), shortenedFrom: json.length })
    if (text.length <= changesCharacters) return text
  }
  return shortenedText(json.length)
}

/** Replacement for the oversized changes that an earlier version stored. */
export const shortenedText = (characters: number): string => JSON.stringify({ shortenedFrom: characters })

interface LevelBound {
  text: number
  items: number
}

function shortened(value: unknown, bound: LevelBound, depth: number): unknown {
  if (typeof value === 'string')
    return value.length <= bound.text ? value : `${value.slice(0, bound.text)}… (${value.length} characters)`
  if (typeof value !== 'object' || value === null) return value
  if (depth >= deepest) return '…'
  const moreText = (count: number) => `… (${count - bound.items} more)`
  if (Array.isArray(value)) {
    const items = value.slice(0, bound.items).map((item) => shortened(item, bound, depth + 1))
    return value.length > bound.items ? [...items, moreText(value.length)] : items
  }
  const entries = Object.entries(value)
  const keptEntries = entries
    .slice(0, bound.items)
    .map(([key, inner]) => [key.slice(0, bound.text), shortened(inner, bound, depth + 1)])
  return Object.fromEntries(entries.length > bound.items ? [...keptEntries, ['…', moreText(entries.length)]] : keptEntries)
}
