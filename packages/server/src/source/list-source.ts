import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { dockerIgnore } from './ignore/docker-ignore.ts'

export interface SourceEntry {
  path: string
  type: 'file' | 'directory' | 'symlink'
}

/** The paths to exclude: generated folders, or those of a `.dockerignore`. */
export type Excluded = { kind: 'generated' } | { kind: 'dockerignore'; text: string }

/** Names that every build creates again, or that are of no use to a build. */
const generatedNames = new Set(['.git', 'node_modules', '.venv', '__pycache__', '.DS_Store'])

/** All files, folders and symlinks below a folder, in a stable order. Symlinks are listed and never followed. */
export async function* listSource(folder: string, excluded: Excluded): AsyncGenerator<SourceEntry> {
  const isIgnored = excluded.kind === 'dockerignore' ? byDockerIgnore(excluded.text) : byName
  const walk = async function* (below: string): AsyncGenerator<SourceEntry> {
    const entries = await readdir(join(folder, below), { withFileTypes: true })
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const path = below ? `${below}/${entry.name}` : entry.name
      const ignored = isIgnored(path, entry.isDirectory())
      if (ignored === true) continue
      // `look-inside` is a third value: the folder itself is ignored, but may contain entries that are not.
      if (entry.isDirectory()) {
        if (ignored === false) yield { path, type: 'directory' }
        yield* walk(path)
      } else if (ignored === false && entry.isSymbolicLink()) yield { path, type: 'symlink' }
      else if (ignored === false && entry.isFile()) yield { path, type: 'file' }
    }
  }
  yield* walk('')
}

/** Whether the path, or a folder above it, is a generated one. */
export const isGenerated = (path: string) => path.split('/').some((name) => generatedNames.has(name))

const byName = (path: string) => generatedNames.has(path.slice(path.lastIndexOf('/') + 1))

function byDockerIgnore(text: string): ReturnType<typeof dockerIgnore> {
  const isIgnored = dockerIgnore(text)
  return (path, isFolder) => path === '.git' || isIgnored(path, isFolder)
}
