import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

interface Chunk {
  file: string
  isEntry?: boolean
  imports?: string[]
  dynamicImports?: string[]
}

const dist = join(import.meta.dirname, '..', '..', 'packages', 'dashboard', 'dist')

export interface BundleSizes {
  /** Compressed size of the entry script, which includes the page at `/`. */
  firstLoadBytes: number
  /** Compressed size of what each other page loads in addition. */
  pageBytes: Record<string, number>
}

/** The files that a browser loads of the built dashboard, from the build's manifest. */
export function readBundleSizes(): BundleSizes {
  const chunks = JSON.parse(readFileSync(join(dist, '.vite', 'manifest.json'), 'utf8')) as Record<string, Chunk>
  const sizes = new Map<string, number>()
  const sizeOf = (name: string) => {
    const known = sizes.get(name) ?? gzipSync(readFileSync(join(dist, chunks[name]!.file))).length
    sizes.set(name, known)
    return known
  }
  const closure = (name: string, into = new Set<string>()) => {
    if (into.has(name)) return into
    into.add(name)
    for (const one of chunks[name]?.imports ?? []) closure(one, into)
    return into
  }
  const entry = Object.keys(chunks).find((name) => chunks[name]?.isEntry)
  if (!entry) throw new Error('the manifest names no entry')
  const first = closure(entry)
  const sum = (names: Iterable<string>) => [...names].reduce((bytes, name) => bytes + sizeOf(name), 0)
  const pages = [...first].flatMap((name) => chunks[name]?.dynamicImports ?? [])
  return {
    firstLoadBytes: sum(first),
    pageBytes: Object.fromEntries(pages.map((name) => [name, sum([...closure(name)].filter((one) => !first.has(one)))])),
  }
}
