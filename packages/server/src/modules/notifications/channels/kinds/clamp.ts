interface ClampOptions {
  /** Written for each character, so that the limit holds for what is sent and no escape is cut in two. */
  encode?: (character: string) => string
  /** How the provider counts; UTF-16 units unless told. */
  measure?: (text: string) => number
}

/** Cuts text to a provider's limit, never inside a character; an ellipsis says that it was cut. */
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

/** One line: for subjects, titles and reasons. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
