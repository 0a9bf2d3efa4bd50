import type { Folder } from '../folder.ts'
import { stripHashComments } from '../source-text.ts'
import { addDependency, type Dependency, type Manifest } from './manifest.ts'

export interface ElixirManifest extends Manifest {
  elixir: string | null
  aliases: Set<string>
}

export const readElixir = (folder: Folder): Promise<ElixirManifest | null> => folder.once('elixir', () => read(folder))

async function read(folder: Folder): Promise<ElixirManifest | null> {
  const file = 'mix.exs'
  const source = await folder.text(file)
  if (source === null) return null
  const text = stripHashComments(source)
  const dependencies = new Map<string, Dependency>()
  for (const [, name, version] of text.matchAll(/\{\s*:([a-z0-9_]+)\s*,\s*(?:"([^"\n]{1,60})")?/g))
    addDependency(dependencies, name!, version ?? null, file)
  return {
    file,
    name: /\bapp:\s*:([a-z0-9_]+)/.exec(text)?.[1] ?? null,
    dependencies,
    elixir: /\belixir:\s*"([^"\n]{1,60})"/.exec(text)?.[1] ?? null,
    aliases: new Set([...text.matchAll(/"([\w.-]+)":\s*\[/g)].map((match) => match[1]!)),
  }
}
