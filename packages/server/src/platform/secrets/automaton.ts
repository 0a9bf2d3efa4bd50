/** Finds many patterns in one pass over a text (Aho-Corasick over UTF-16 code units). */
export interface Automaton {
  /** Calls back for each position where a pattern ends, with the longest such pattern; `end` is exclusive. */
  scan(text: string, found: (start: number, end: number) => void): void
}

/**
 * Nodes are numbers and edges are one flat hash table, since there are thousands of patterns. `longest` holds the length of the
 * longest pattern that ends at a node, 0 for none.
 */
export function buildAutomaton(patterns: readonly string[]): Automaton {
  const maxNodes = patterns.reduce((sum, pattern) => sum + pattern.length, 1)
  const edges = createEdges(maxNodes)
  const longest = new Int32Array(maxNodes)
  const parent = new Int32Array(maxNodes)
  const unit = new Uint16Array(maxNodes)
  let count = 1
  for (const pattern of patterns) {
    let node = 0
    for (let at = 0; at < pattern.length; at++) {
      const code = pattern.charCodeAt(at)
      let next = edges.get(node, code)
      if (next === 0) {
        next = count++
        edges.set(node, code, next)
        parent[next] = node
        unit[next] = code
      }
      node = next
    }
    longest[node] = pattern.length
  }
  const fallback = linkFallbacks({ count, parent, unit, longest, edges })
  return { scan: (text, found) => scan(text, found, { edges, fallback, longest }) }
}

interface Edges {
  /** Returns 0 for a missing edge: 0 is the root, which is never a child. */
  get(node: number, code: number): number
  set(node: number, code: number, next: number): void
}

function createEdges(max: number): Edges {
  const size = 2 ** Math.ceil(Math.log2(max * 2 + 2))
  const nodes = new Int32Array(size)
  const codes = new Uint16Array(size)
  const nexts = new Int32Array(size)
  const slotOf = (node: number, code: number) => {
    let slot = Math.imul(Math.imul(node, 0x9e3779b1) ^ code, 0x85ebca6b) >>> 0
    slot = (slot ^ (slot >>> 15)) & (size - 1)
    while (nexts[slot] !== 0 && (nodes[slot] !== node || codes[slot] !== code)) slot = (slot + 1) & (size - 1)
    return slot
  }
  return {
    get: (node, code) => nexts[slotOf(node, code)]!,
    set: (node, code, next) => {
      const slot = slotOf(node, code)
      nodes[slot] = node
      codes[slot] = code
      nexts[slot] = next
    },
  }
}

interface Trie {
  count: number
  parent: Int32Array
  unit: Uint16Array
  longest: Int32Array
  edges: Edges
}

/** A node falls back to the node of its longest proper suffix; shallow nodes first, since deeper ones build on them. */
function linkFallbacks({ count, parent, unit, longest, edges }: Trie): Int32Array {
  const fallback = new Int32Array(count)
  for (const node of byDepth(parent, count)) {
    const above = parent[node]!
    if (above === 0) continue
    let candidate = fallback[above]!
    let next = edges.get(candidate, unit[node]!)
    while (next === 0 && candidate !== 0) {
      candidate = fallback[candidate]!
      next = edges.get(candidate, unit[node]!)
    }
    fallback[node] = next
    if (longest[node] === 0) longest[node] = longest[next]!
  }
  return fallback
}

/** All nodes except the root, ordered by depth. A parent's number is always lower than its child's. */
function byDepth(parent: Int32Array, count: number): Int32Array {
  const depth = new Int32Array(count)
  const starts: number[] = [0, 0]
  for (let node = 1; node < count; node++) {
    const nodeDepth = depth[parent[node]!]! + 1
    depth[node] = nodeDepth
    starts[nodeDepth + 1] = (starts[nodeDepth + 1] ?? 0) + 1
  }
  for (let level = 1; level < starts.length; level++) starts[level] = starts[level]! + starts[level - 1]!
  const order = new Int32Array(count - 1)
  for (let node = 1; node < count; node++) order[starts[depth[node]!]!++] = node
  return order
}

interface Machine {
  edges: Edges
  fallback: Int32Array
  longest: Int32Array
}

function scan(text: string, found: (start: number, end: number) => void, { edges, fallback, longest }: Machine): void {
  let node = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    let next = edges.get(node, code)
    while (next === 0 && node !== 0) {
      node = fallback[node]!
      next = edges.get(node, code)
    }
    node = next
    const length = longest[node]!
    if (length > 0) found(at + 1 - length, at + 1)
  }
}
