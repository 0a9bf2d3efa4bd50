import type { Folder } from '../folder.ts'
import { stripHashComments } from '../source-text.ts'
import { addDependency, type Dependency, type Manifest } from './manifest.ts'

export interface RubyManifest extends Manifest {
  ruby: string | null
}

export const readRuby = (folder: Folder): Promise<RubyManifest | null> => folder.once('ruby', () => read(folder))

async function read(folder: Folder): Promise<RubyManifest | null> {
  const file = 'Gemfile'
  const gemfile = await folder.text(file)
  if (gemfile === null) return null
  const text = stripHashComments(gemfile)
  const dependencies = new Map<string, Dependency>()
  for (const [, name, version] of text.matchAll(/^[ \t]*gem[ \t(]+["']([\w.-]+)["'](?:[ \t]*,[ \t]*["']([^"'\n]{1,60})["'])?/gm))
    addDependency(dependencies, name!, version ?? null, file)
  const ruby = /^[ \t]*ruby[ \t(]+["']([^"'\n]{1,60})["']/m.exec(text)?.[1] ?? null
  return { file, name: null, dependencies, ruby }
}
