import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { countSubfolders, describeCycle, findFolderCycles, readImports, sourceFiles } from './folder-cycles.ts'

const clone = fileURLToPath(new URL('..', import.meta.url))
const program = join(clone, 'scripts', 'folder-cycles.ts')
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A tree with these files of one module; each file imports the listed ones. */
function treeWith(files: Record<string, string>): string {
  const tree = mkdtempSync(join(tmpdir(), 'berth-folders-'))
  folders.push(tree)
  for (const [file, text] of Object.entries(files)) {
    const path = join(tree, 'packages/server/src/modules/shops', file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  return tree
}

const cyclesIn = (files: Record<string, string>) => findFolderCycles(readImports(treeWith(files))).map(({ items }) => items)

test('no folder of this clone has a cycle', () => {
  expect(findFolderCycles(readImports(clone)).map(describeCycle)).toEqual([])
})

test('two folders that import each other through different files are refused, and the imports are listed', async () => {
  const tree = treeWith({
    'orders/order.ts': `import type { Item } from '../items/item.ts'\nexport type Order = Item[]\n`,
    'items/item.ts': `export type Item = string\n`,
    'items/popular.ts': `import type { Order } from '../orders/order.ts'\nexport type Popular = Order\n`,
  })
  const error = await promisify(execFile)(process.execPath, [program, tree]).catch((failure) => failure)
  expect(error.code).toBe(1)
  expect(error.stderr).toContain(
    'packages/server/src/modules/shops: items/, orders/ import each other\n' +
      '  items/popular.ts -> orders/order.ts\n  orders/order.ts -> items/item.ts\n',
  )
})

test('a cycle of three folders, through a file of the parent folder, or by a dynamic import or an export is refused', () => {
  const three = {
    'one/a.ts': `import '../two/a.ts'`,
    'two/a.ts': `export { three } from '../three/a.ts'`,
    'three/a.ts': `export const load = () => import('../one/b.ts')`,
    'one/b.ts': '',
  }
  expect(cyclesIn(three)).toEqual([['one/', 'three/', 'two/']])
  const above = { 'deps.ts': `import type { A } from './one/a.ts'`, 'one/a.ts': '', 'one/b.ts': `import '../deps.ts'` }
  expect(cyclesIn(above)).toEqual([['deps.ts', 'one/']])
})

test('imports in one direction are allowed; imports of tests and in comments are ignored', () => {
  const files = {
    'deps.ts': '',
    'index.ts': `import './one/a.ts'`,
    'one/a.ts': `import '../deps.ts'\nimport './b.ts'\n// import '../two/a.ts'\n/* import '../two/a.ts' */`,
    'one/b.ts': '',
    'one/a.test.ts': `import '../two/a.ts'`,
    'two/a.ts': `import '../one/b.ts'`,
  }
  const tree = treeWith(files)
  expect(findFolderCycles(readImports(tree))).toEqual([])
  expect(countSubfolders(sourceFiles(tree), readImports(tree))).toContainEqual({
    folder: 'packages/server/src/modules/shops',
    subfolders: 2,
    importingPairs: 1,
  })
})
