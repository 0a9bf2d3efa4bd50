import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { leadsOutside } from '../leads-outside.ts'

/** File and folder names below a folder, without reading any file. */
export interface Inventory {
  /** Contents by path from the root; the root itself is `''`. */
  folders: Map<string, { files: string[]; folders: string[] }>
  /** Symlinks that lead out of the root; they are never followed. */
  outsideLinks: string[]
  /** The limit was reached: there are more files. */
  isPartial: boolean
}

export interface InventoryLimits {
  maxFiles: number
  abort?: AbortSignal
  /** A folder that is listed regardless of its name and depth. */
  rootDirectory?: string
}

/** Folders of builds, package managers and editors: large, and without information about the build. */
const skippedFolders = new Set(
  `node_modules bower_components jspm_packages .git .hg .svn vendor target dist build out coverage __pycache__ .venv venv .tox .mypy_cache
  .pytest_cache .next .nuxt .output .svelte-kit .astro .angular .turbo .nx .cache .parcel-cache .gradle .idea .vscode .terraform _build deps
  Pods obj .yarn .pnpm-store tmp log logs`.split(/\s+/),
)
const maxDepth = 6
const maxLinks = 100
/** Enough to keep the disk busy, and few enough to leave the thread pool to other work. */
const maxConcurrent = 8

/** Lists breadth-first, so that the files near the root are known even if the limit is reached. */
export async function listInventory(root: string, { maxFiles, abort, rootDirectory = '' }: InventoryLimits): Promise<Inventory> {
  const inventory: Inventory = { folders: new Map(), outsideLinks: [], isPartial: false }
  const links: string[] = []
  const deepest = maxDepth + rootDirectory.split('/').length - 1
  let remaining = maxFiles
  let level = ['']
  for (let depth = 0; level.length > 0 && depth <= deepest && remaining > 0; depth++) {
    const next: string[] = []
    for (let start = 0; start < level.length; start += maxConcurrent) {
      abort?.throwIfAborted()
      if (remaining <= 0) break
      const paths = level.slice(start, start + maxConcurrent)
      const listings = await Promise.all(paths.map((path) => list(root, path)))
      for (const [index, entries] of listings.entries()) {
        addListing(paths[index]!, entries.length > remaining ? entries.slice(0, Math.max(0, remaining)) : entries, {
          inventory,
          links,
          next,
          rootDirectory,
        })
        remaining -= entries.length
      }
    }
    level = next
  }
  inventory.isPartial = remaining < 0 || (remaining === 0 && level.length > 0)
  await followInside(root, links.slice(0, maxLinks), inventory)
  return inventory
}

/** An unreadable folder counts as empty, except for the root. */
function list(root: string, path: string): Promise<Dirent[]> {
  const listing = readdir(join(root, path), { withFileTypes: true })
  return path === '' ? listing : listing.catch(() => [])
}

interface ListingState {
  inventory: Inventory
  links: string[]
  next: string[]
  rootDirectory: string
}

function addListing(path: string, entries: Dirent[], state: ListingState): void {
  const files: string[] = []
  const folders: string[] = []
  for (const entry of entries) {
    if (entry.isFile()) files.push(entry.name)
    else if (entry.isSymbolicLink()) state.links.push(below(path, entry.name))
    else if (entry.isDirectory()) {
      const folder = below(path, entry.name)
      if (skippedFolders.has(entry.name) && !`${state.rootDirectory}/`.startsWith(`${folder}/`)) continue
      folders.push(entry.name)
      state.next.push(folder)
    }
  }
  state.inventory.folders.set(path, { files, folders })
}

export const below = (path: string, name: string) => (path === '' ? name : `${path}/${name}`)

/** A symlink to a file of the same project counts as that file; one to a folder would only duplicate it. */
async function followInside(root: string, links: string[], inventory: Inventory): Promise<void> {
  for (const link of links) {
    try {
      const real = await realpath(join(root, link))
      if (leadsOutside(relative(root, real))) inventory.outsideLinks.push(link)
      else if ((await stat(real)).isFile()) addFile(link, inventory)
    } catch {
      // A dangling symlink is ignored.
    }
  }
}

function addFile(path: string, { folders }: Inventory): void {
  const slash = path.lastIndexOf('/')
  folders.get(slash < 0 ? '' : path.slice(0, slash))?.files.push(path.slice(slash + 1))
}
