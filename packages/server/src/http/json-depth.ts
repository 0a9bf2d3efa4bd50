/** Maximum nesting of a body: more than any valid body has, and far below stack limits. */
export const deepestJson = 64

const [quote, backslash, openList, closeList, openObject, closeObject] = [...'"\\[]{}'].map((one) => one.charCodeAt(0))

/** Whether JSON is nested deeper than the limit, without parsing it: later code recurses into it. */
export function isTooDeep(json: Uint8Array): boolean {
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === quote) at = endOfString(json, at + 1)
    else if (byte === openList || byte === openObject) {
      if (++depth > deepestJson) return true
    } else if (byte === closeList || byte === closeObject) depth -= 1
  }
  return false
}

function endOfString(json: Uint8Array, from: number): number {
  let at = from
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1
  return at
}
