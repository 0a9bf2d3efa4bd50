import { isAlias, isMap, isPair, isScalar, isSeq } from 'yaml'

export interface ExpandedLimits {
  aliases: number
  nodes: number
  depth: number
}

const message = 'it is too large or too deep once its aliases are followed'

/**
 * Throws when a document is too large after expanding its aliases. Call before anything follows them: a file of a few kilobytes
 * can expand to billions of nodes.
 */
export function checkExpandedSize(contents: unknown, limits: ExpandedLimits): void {
  const sizes = new Map<string, number>()
  let [aliases, total] = [0, 0]
  const count = (size: number): number => {
    total += size
    if (total > limits.nodes || aliases > limits.aliases) throw new Error(message)
    return size
  }
  const sizeOf = (node: unknown, depth: number): number => {
    if (depth > limits.depth) throw new Error(message)
    if (isAlias(node)) {
      aliases += 1
      return count(sizes.get(node.source) ?? 1)
    }
    if (isPair(node)) return sizeOf(node.key, depth) + sizeOf(node.value, depth)
    let size = count(1)
    if (isMap(node) || isSeq(node)) for (const item of node.items) size += sizeOf(item, depth + 1)
    if ((isScalar(node) || isMap(node) || isSeq(node)) && node.anchor) sizes.set(node.anchor, size)
    return size
  }
  sizeOf(contents, 0)
}
