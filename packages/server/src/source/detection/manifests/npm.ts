import { dig, recordOf, textEntries, textOf, textsOf } from '../../values.ts'
import type { Folder } from '../folder.ts'
import { addDependency, type Manifest } from './manifest.ts'

export interface NpmManifest extends Manifest {
  scripts: Map<string, string>
  main: string | null
  engines: Map<string, string>
  /** `name@version` of the package manager. */
  packageManager: string | null
  /** Globs of the workspace's packages; `null` when it is not a workspace. */
  workspaces: string[] | null
  voltaNode: string | null
}

export const readNpm = (folder: Folder): Promise<NpmManifest | null> => folder.once('npm', () => read(folder))

async function read(folder: Folder): Promise<NpmManifest | null> {
  const file = 'package.json'
  const json = recordOf(await folder.json(file))
  if (Object.keys(json).length === 0) return null
  const dependencies: Manifest['dependencies'] = new Map()
  for (const group of ['dependencies', 'devDependencies', 'optionalDependencies'])
    for (const [name, version] of textEntries(json[group])) addDependency(dependencies, name, version, file)
  const workspaces = Array.isArray(json.workspaces) ? json.workspaces : dig(json, 'workspaces', 'packages')
  return {
    file,
    name: textOf(json.name),
    dependencies,
    // Truncated: regular expressions run on these lines, and real scripts are shorter.
    scripts: new Map(textEntries(json.scripts).map(([name, line]) => [name, line.slice(0, 2000)])),
    main: textOf(json.main) ?? textOf(json.module),
    engines: new Map(textEntries(json.engines)),
    packageManager: textOf(json.packageManager),
    workspaces: Array.isArray(workspaces) ? textsOf(workspaces) : null,
    voltaNode: textOf(dig(json, 'volta', 'node')),
  }
}
