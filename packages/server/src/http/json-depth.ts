/** More than any body of ours has; far less than the stack of whoever walks through it. */
export const deepestJson = 64

const [quote, backslash, openList, closeList, openObject, closeObject] = [...'"\\[]{}'].map((one) => one.charCodeAt(0))

/** Whether JSON nests deeper than that, found without parsing it: what comes after would walk down as far as it goes. */
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
