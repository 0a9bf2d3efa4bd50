import type { Folder } from './folder.ts'
import { readNpm } from './manifests/npm.ts'
import { workspacePackages } from './monorepo.ts'
import type { App } from './stack.ts'

/** A package of the same workspace that an app is built with. */
export interface Sibling {
  name: string
  folder: Folder
}

const maxSiblings = 50

/** The packages beside the app that it depends on and that have a build of their own, each after those that it needs itself. */
export async function siblingsToBuild({ folder }: App): Promise<Sibling[]> {
  const packages = await packagesAround(folder)
  if (packages === null) return []
  const ordered: Sibling[] = []
  const seen = new Set<string>()
  const visit = async (place: Folder): Promise<void> => {
    const manifest = await readNpm(place)
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

/** By name; `null` when the app is in no workspace. */
async function packagesAround(folder: Folder): Promise<Map<string, Folder> | null> {
  for (const root of folder.upwards.slice(1)) {
    const paths = await workspacePackages(root)
    const places = paths?.map((path) => root.at(path))
    if (!places?.some((place) => place.path === folder.path)) continue
    const named = await Promise.all(places.map(async (place) => [(await readNpm(place))?.name ?? '', place] as const))
    return new Map(named.filter(([name, place]) => name !== '' && place.path !== folder.path))
  }
  return null
}
