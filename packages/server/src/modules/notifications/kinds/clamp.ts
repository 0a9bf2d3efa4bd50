interface ClampOptions {
  /** Encodes each character, so that the limit applies to the encoded text and no escape sequence is cut. */
  encode?: (character: string) => string
  /** Length as the provider counts it; default: UTF-16 units. */
  measure?: (text: string) => number
}

/** Truncates text to a provider's limit without splitting a character, and marks it with an ellipsis. */
export function clamp(
  text: string,
  limit: number,
  { encode = (text) => text, measure = (text) => text.length }: ClampOptions = {},
): string {
  const keptCharacters: string[] = []
  const maxLength = limit - measure('…')
  let size = 0
  let beforeEllipsis = 0
  for (const character of text) {
    const encoded = encode(character)
    size += measure(encoded)
    if (size > limit) return `${keptCharacters.slice(0, beforeEllipsis).join('')}…`
    keptCharacters.push(encoded)
    if (size <= maxLength) beforeEllipsis = keptCharacters.length
  }
  return keptCharacters.join('')
}

/** Collapses whitespace and control characters to one line, for subjects, titles and reasons. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
