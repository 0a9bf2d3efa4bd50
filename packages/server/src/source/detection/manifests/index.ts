import type { Folder } from '../folder.ts'
import { readDeno } from './deno.ts'
import { readDotnet } from './dotnet.ts'
import { readElixir } from './elixir.ts'
import { readGo } from './go.ts'
import { readJava } from './java.ts'
import { readNpm } from './npm.ts'
import { readPhp } from './php.ts'
import { readPython } from './python.ts'
import { readRuby } from './ruby.ts'
import { readRust } from './rust.ts'

const readers = {
  npm: readNpm,
  deno: readDeno,
  python: readPython,
  go: readGo,
  rust: readRust,
  ruby: readRuby,
  php: readPhp,
  java: readJava,
  dotnet: readDotnet,
  elixir: readElixir,
}

export type Ecosystem = keyof typeof readers
export type Manifests = { [E in Ecosystem]: Awaited<ReturnType<(typeof readers)[E]>> }

/** The manifest of each language; `null` for languages that the folder does not use. */
export async function readManifests(folder: Folder): Promise<Manifests> {
  const read = Object.entries(readers).map(async ([ecosystem, reader]) => [ecosystem, await reader(folder)] as const)
  return Object.fromEntries(await Promise.all(read)) as Manifests
}
