/** Maximum nesting of a body: more than any valid body has, and far below stack limits. */
export const maxJsonDepth = 64

const [quote, backslash, openList, closeList, openObject, closeObject] = [...'"\\[]{}'].map((character) =>
  character.charCodeAt(0),
)

/** Whether JSON is nested deeper than the limit. It is checked before parsing, because later code recurses into the value. */
export function isTooDeep(json: Uint8Array): boolean {
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === quote) at = endOfString(json, at + 1)
    else if (byte === openList || byte === openObject) {
      if (++depth > maxJsonDepth) return true
    } else if (byte === closeList || byte === closeObject) depth -= 1
  }
  return false
}

function endOfString(json: Uint8Array, from: number): number {
  let at = from
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1
  return at
}
