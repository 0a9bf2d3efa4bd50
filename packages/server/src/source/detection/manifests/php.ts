import { recordOf, textEntries, textOf } from '../../values.ts'
import type { Folder } from '../folder.ts'
import { addDependency, type Dependency, type Manifest } from './manifest.ts'

export interface PhpManifest extends Manifest {
  php: string | null
}

export const readPhp = (folder: Folder): Promise<PhpManifest | null> => folder.once('php', () => read(folder))

async function read(folder: Folder): Promise<PhpManifest | null> {
  const file = 'composer.json'
  const json = recordOf(await folder.json(file))
  if (Object.keys(json).length === 0) return null
  const dependencies = new Map<string, Dependency>()
  for (const group of ['require', 'require-dev'])
    for (const [name, version] of textEntries(json[group])) addDependency(dependencies, name, version, file)
  const name = textOf(json.name)
  return { file, name: name?.split('/').at(-1) ?? null, dependencies, php: dependencies.get('php')?.version ?? null }
}
