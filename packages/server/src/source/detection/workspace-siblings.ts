import type { Folder } from './folder.ts'
import { readNpm } from './manifests/npm.ts'
import { workspacePackages } from './monorepo.ts'
import type { App } from './stack.ts'

/** A workspace package that an app depends on. */
export interface Sibling {
  name: string
  folder: Folder
}

const maxSiblings = 50

/** Workspace packages that the app depends on and that have a build script, in build order. */
export async function siblingsToBuild({ folder }: App): Promise<Sibling[]> {
  const packages = await workspacePackagesByName(folder)
  if (packages === null) return []
  const ordered: Sibling[] = []
  const seen = new Set<string>()
  const visit = async (location: Folder): Promise<void> => {
    const manifest = await readNpm(location)
    for (const name of manifest?.dependencies.keys() ?? []) {
      const sibling = packages.get(name)
      if (!sibling || seen.has(name) || seen.size >= maxSiblings) continue
      seen.add(name)
      await visit(sibling)
      if ((await readNpm(sibling))?.scripts.has('build')) ordered.push({ name, folder: sibling })
    }
  }
  await visit(folder)
  return ordered
}

/** Workspace packages by name; `null` when the app is not in a workspace. */
async function workspacePackagesByName(folder: Folder): Promise<Map<string, Folder> | null> {
  for (const root of folder.upwards.slice(1)) {
    const paths = await workspacePackages(root)
    const locations = paths?.map((path) => root.at(path))
    if (!locations?.some((location) => location.path === folder.path)) continue
    const named = await Promise.all(locations.map(async (location) => [(await readNpm(location))?.name ?? '', location] as const))
    return new Map(named.filter(([name, location]) => name !== '' && location.path !== folder.path))
  }
  return null
}
