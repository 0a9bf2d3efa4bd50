import type { Folder } from '../folder.ts'
import { addDependency, type Dependency, type Manifest } from './manifest.ts'

export interface GoManifest extends Manifest {
  go: string | null
}

export const readGo = (folder: Folder): Promise<GoManifest | null> => folder.once('go', () => read(folder))

async function read(folder: Folder): Promise<GoManifest | null> {
  const file = 'go.mod'
  const text = await folder.text(file)
  if (text === null) return null
  const dependencies = new Map<string, Dependency>()
  for (const [, name, version] of text.matchAll(/^[ \t]*(?:require[ \t]+)?([a-z0-9.-]+\.[a-z]{2,}\/[^\s]+)[ \t]+(v[^\s]+)/gim))
    addDependency(dependencies, name!, version!, file)
  const module = /^module[ \t]+"?([^\s"]+)/m.exec(text)?.[1] ?? null
  // A last part such as v2 is the module's version.
  const name = module?.split('/').findLast((part) => !/^v\d+$/.test(part)) ?? null
  const toolchain = /^toolchain[ \t]+go([\w.]+)/m.exec(text)?.[1]
  return { file, name, dependencies, go: toolchain ?? /^go[ \t]+([\w.]+)/m.exec(text)?.[1] ?? null }
}
