import { below, type Inventory } from './inventory.ts'

/** Longer patterns match nothing. */
const maxLength = 200
const maxSegments = 10

/** A pattern with `*` in a name and `**` for any folders. Each folder is visited at most once per segment. */
export class NamePattern {
  readonly #segments: readonly Segment[]

  constructor(pattern: string) {
    const segments = pattern.length > maxLength ? [] : pattern.split('/').filter((name) => name !== '.')
    const isTooLong = pattern.length > maxLength || segments.length > maxSegments
    this.#segments = isTooLong ? [() => false] : segments.map(segmentOf)
  }

  /** Paths of matching files, relative to the folder `base` of the inventory. */
  files(base: string, inventory: Inventory): string[] {
    const found: string[] = []
    this.#walk(base, inventory, (path, segment, index) => {
      if (index !== this.#segments.length - 1 || segment === 'any folders') return
      for (const name of inventory.folders.get(joinBase(base, path))?.files ?? [])
        if (segment(name)) found.push(below(path, name))
    })
    return found
  }

  folders(base: string, inventory: Inventory): string[] {
    const found: string[] = []
    this.#walk(base, inventory, (path, _segment, index) => {
      if (index === this.#segments.length) found.push(path)
    })
    return found
  }

  /**
   * Visits each folder with the segment that its entries are compared with. An index after the last segment means that the folder
   * itself matches the whole pattern.
   */
  #walk(base: string, { folders }: Inventory, visit: (path: string, segment: Segment, index: number) => void): void {
    const seen = new Set<string>()
    const stack: [path: string, index: number][] = [['', 0]]
    for (let next = stack.pop(); next; next = stack.pop()) {
      const [path, index] = next
      const key = `${index} ${path}`
      if (seen.has(key)) continue
      seen.add(key)
      const segment = this.#segments[index] ?? 'any folders'
      visit(path, segment, index)
      if (index >= this.#segments.length) continue
      const isAny = segment === 'any folders'
      if (isAny) stack.push([path, index + 1])
      for (const name of folders.get(joinBase(base, path))?.folders ?? [])
        if (isAny) stack.push([below(path, name), index])
        else if (segment(name)) stack.push([below(path, name), index + 1])
    }
  }
}

type Segment = 'any folders' | ((name: string) => boolean)

const joinBase = (base: string, path: string) => (path === '' ? base : below(base, path))

/** Matches a name with one or more `*`, piece by piece: a hostile pattern costs no more than its length. */
function segmentOf(pattern: string): Segment {
  if (pattern === '**') return 'any folders'
  if (!pattern.includes('*')) return (name) => name === pattern
  const [first = '', ...pieces] = pattern.split('*')
  const last = pieces.pop()!
  return (name) => {
    if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false
    let from = first.length
    for (const piece of pieces) {
      const at = name.indexOf(piece, from)
      if (at < 0) return false
      from = at + piece.length
    }
    return from <= name.length - last.length
  }
}
