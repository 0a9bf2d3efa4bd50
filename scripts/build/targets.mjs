// The build targets with their sources, and whether each target is up to date. No dependency, so that `up` can ask before
// building.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from '../programs.mjs'

const contract = 'packages/contract/src'
const always = ['package-lock.json', 'scripts/build.mjs', 'scripts/build']

/** `entries` are named by the file they become; a target is built once its `main` entry exists. */
export const targets = [
  {
    name: 'server',
    folder: 'packages/server',
    sources: [contract, 'packages/server/src', 'packages/server/templates'],
    entries: {
      main: 'packages/server/src/main.ts',
      edge: 'packages/server/src/edge-proxy/main.ts',
      reader: 'packages/server/src/drivers/reader/main.ts',
      'part-worker': 'packages/server/src/drivers/archive/part-worker.ts',
      'size-worker': 'packages/server/src/drivers/folder/size-worker.ts',
    },
  },
  {
    name: 'cli',
    folder: 'packages/cli',
    sources: [contract, 'packages/cli/src', 'packages/server/src'],
    entries: {
      main: 'packages/cli/src/main.ts',
      'part-worker': 'packages/server/src/drivers/archive/part-worker.ts',
    },
  },
  {
    name: 'dashboard',
    folder: 'packages/dashboard',
    sources: [contract, 'packages/dashboard'],
    entries: { main: 'packages/dashboard/vite.config.ts' },
  },
]

export const distFolder = (target) => join(root, target.folder, 'dist')
export const stampFile = (folder) => join(folder, '.sources')
export const canBeBuilt = (target) => existsSync(join(root, target.entries.main))
export const isFresh = (target) => readStamp(target) === sourcesHash(target)

export function sourcesHash(target) {
  const hash = createHash('sha256')
  for (const path of [...always, ...target.sources, join(target.folder, 'package.json')]) {
    for (const file of filesBelow(join(root, path))) {
      hash.update(`${relative(root, file)}\0`)
      hash.update(readFileSync(file))
      hash.update('\0')
    }
  }
  return hash.digest('hex')
}

function readStamp(target) {
  const file = stampFile(distFolder(target))
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

function filesBelow(path) {
  if (!existsSync(path)) return []
  const entries = readDirectory(path)
  if (!entries) return [path]
  return entries
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules' && name !== 'dist' && !/\.test\.tsx?$/.test(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(join(path, entry.name)) : [join(path, entry.name)]))
}

function readDirectory(path) {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch (error) {
    if (error.code === 'ENOTDIR') return undefined
    throw error
  }
}
