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
  { encode = (it) => it, measure = (it) => it.length }: ClampOptions = {},
): string {
  const kept: string[] = []
  const room = limit - measure('…')
  let size = 0
  let beforeEllipsis = 0
  for (const character of text) {
    const encoded = encode(character)
    size += measure(encoded)
    if (size > limit) return `${kept.slice(0, beforeEllipsis).join('')}…`
    kept.push(encoded)
    if (size <= room) beforeEllipsis = kept.length
  }
  return kept.join('')
}

/** Collapses whitespace and control characters to one line, for subjects, titles and reasons. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
