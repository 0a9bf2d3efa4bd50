// Finds folder cycles: in each folder of a package, its files and subfolders must not import each other in a circle. A subfolder
// counts as a whole, a file of the folder itself counts alone. Tests are not read; type-only imports count.
//   node scripts/folder-cycles.ts [tree]      prints each cycle with its imports, and fails if there is one
//   node scripts/folder-cycles.ts --subfolders  prints how many subfolders each folder has, and how many pairs import each other
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

/** An import between two files; both paths are relative to the root of the tree. */
export type Import = { from: string; to: string }

/** Items of one folder that import each other in a circle, and the imports between them. */
export type FolderCycle = { folder: string; items: string[]; imports: Import[] }

const sources = ['packages/*/src/**/*.{ts,tsx}']
const specifiers = /(?:\bfrom\s*|\bimport\s*\(?\s*)'(\.[^']+)'/g
const isTest = (file: string) => file.endsWith('.test.ts') || /(?:^|\/)fixtures\//.test(file)

export const sourceFiles = (root: string): string[] =>
  globSync(sources, { cwd: root })
    .filter((file) => !isTest(file))
    .sort()

/** Reads the relative imports of source files. Imports in comments are left out. */
export function readImports(root: string, files = sourceFiles(root)): Import[] {
  const known = new Set(files)
  return files.flatMap((from) => {
    const text = readFileSync(join(root, from), 'utf8').replace(/\/\*.*?\*\/|^\s*\/\/.*$/gms, '')
    const targets = [...text.matchAll(specifiers)].map(([, specifier]) => normalize(join(dirname(from), specifier!)))
    return [...new Set(targets)].filter((to) => known.has(to)).map((to) => ({ from, to }))
  })
}

/** Finds the cycles among the items of every folder. */
export function findFolderCycles(imports: readonly Import[]): FolderCycle[] {
  return [...byFolder(imports)].flatMap(([folder, between]) =>
    cyclesOf(between).map((items) => ({
      folder,
      items,
      imports: imports.filter(({ from, to }) => {
        const [one, other] = [itemOf(folder, from), itemOf(folder, to)]
        return one !== other && items.includes(one) && items.includes(other)
      }),
    })),
  )
}

/** Groups the imports by the deepest folder that contains both files: for each of its items, the items that it imports. */
function byFolder(imports: readonly Import[]): Map<string, Map<string, Set<string>>> {
  const folders = new Map<string, Map<string, Set<string>>>()
  for (const { from, to } of imports) {
    const folder = commonFolder(from, to)
    const between = folders.get(folder) ?? new Map<string, Set<string>>()
    folders.set(folder, between)
    const [one, other] = [itemOf(folder, from), itemOf(folder, to)]
    between.set(one, (between.get(one) ?? new Set()).add(other))
  }
  return folders
}

function commonFolder(one: string, other: string): string {
  const [parts, others] = [dirname(one).split('/'), dirname(other).split('/')]
  const length = parts.findIndex((part, at) => part !== others[at])
  return (length < 0 ? parts : parts.slice(0, length)).join('/')
}

/** The item of the folder that a file belongs to: itself, or a subfolder, written with a slash. Empty if it is outside. */
function itemOf(folder: string, file: string): string {
  if (!file.startsWith(`${folder}/`)) return ''
  const rest = file.slice(folder.length + 1)
  return rest.includes('/') ? rest.slice(0, rest.indexOf('/') + 1) : rest
}

/** Groups of items that reach each other (strongly connected components of more than one item), by Tarjan's algorithm. */
function cyclesOf(between: Map<string, Set<string>>): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const path: string[] = []
  const found: string[][] = []
  const visit = (item: string) => {
    order.set(item, order.size)
    lowest.set(item, order.get(item)!)
    path.push(item)
    for (const next of between.get(item) ?? []) {
      if (!order.has(next)) visit(next)
      if (path.includes(next)) lowest.set(item, Math.min(lowest.get(item)!, lowest.get(next)!))
    }
    if (lowest.get(item) !== order.get(item)) return
    const group = path.splice(path.indexOf(item))
    if (group.length > 1) found.push(group.sort())
  }
  for (const item of between.keys()) if (!order.has(item)) visit(item)
  return found
}

const inside = (folder: string, file: string) => file.slice(folder.length + 1)

/** Text of a cycle: its folder, its items, and each import between them. */
export const describeCycle = ({ folder, items, imports }: FolderCycle) =>
  [
    `${folder}: ${items.join(', ')} import each other`,
    ...imports.map(({ from, to }) => `  ${inside(folder, from)} -> ${inside(folder, to)}`),
  ].join('\n')

/** Counts the subfolders of each folder, and the pairs of subfolders of which the first imports the second. */
export function countSubfolders(
  files: readonly string[],
  imports: readonly Import[],
): { folder: string; subfolders: number; importingPairs: number }[] {
  const subfolders = new Map<string, Set<string>>()
  for (const file of files) {
    const parts = dirname(file).split('/')
    for (let at = 1; at < parts.length; at++) {
      const folder = parts.slice(0, at).join('/')
      subfolders.set(folder, (subfolders.get(folder) ?? new Set()).add(parts[at]!))
    }
  }
  const between = byFolder(imports)
  return [...subfolders].sort().map(([folder, names]) => {
    const pairs = [...(between.get(folder) ?? [])].flatMap(([from, targets]) =>
      from.endsWith('/') ? [...targets].filter((to) => to.endsWith('/')) : [],
    )
    return { folder, subfolders: names.size, importingPairs: pairs.length }
  })
}

function main(args: string[]) {
  const root = args.find((word) => !word.startsWith('--')) ?? fileURLToPath(new URL('..', import.meta.url))
  const files = sourceFiles(root)
  const imports = readImports(root, files)
  if (args.includes('--subfolders')) {
    const inPackages = countSubfolders(files, imports).filter(({ folder }) => folder.split('/').length > 2)
    const lines = inPackages.map(
      ({ folder, subfolders, importingPairs }) =>
        `${folder}: ${subfolders} subfolders, ${importingPairs} pairs import each other`,
    )
    return console.log(lines.join('\n'))
  }
  const cycles = findFolderCycles(imports)
  for (const cycle of cycles) console.error(describeCycle(cycle))
  console.log(`folder cycles: ${cycles.length}`)
  if (cycles.length > 0) process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2))
