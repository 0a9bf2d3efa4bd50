import { dig, textOf } from '../values.ts'
import type { Evidence } from './detection.ts'
import type { Folder } from './folder.ts'
import { managerVersions } from './manager-versions.ts'
import { readElixir } from './manifests/elixir.ts'
import { readGo } from './manifests/go.ts'
import { readJava } from './manifests/java.ts'
import { readNpm } from './manifests/npm.ts'
import { readPhp } from './manifests/php.ts'
import { readPython } from './manifests/python.ts'
import { readRuby } from './manifests/ruby.ts'
import { readRust } from './manifests/rust.ts'
import type { App } from './stack.ts'

/** A file that names the version of a runtime. */
interface Source {
  runtime: string
  file: string
  read: (folder: Folder) => Promise<string | null | undefined>
}

const firstLine =
  (file: string, prefix = /^v/) =>
  async (folder: Folder) => {
    const line = (await folder.head(file))?.split('\n').find((one) => one.trim() !== '' && !one.startsWith('#'))
    return line?.trim().replace(prefix, '')
  }

/** Runtimes by tool name in `.tool-versions`. */
const tools: Record<string, string> = {
  nodejs: 'node',
  node: 'node',
  python: 'python',
  golang: 'go',
  go: 'go',
  rust: 'rust',
  ruby: 'ruby',
  php: 'php',
  java: 'java',
  elixir: 'elixir',
  erlang: 'erlang',
  deno: 'deno',
  bun: 'bun',
  dotnet: 'dotnet',
  'dotnet-core': 'dotnet',
}

const toolVersions: Source[] = Object.entries(tools).map(([tool, runtime]) => ({
  runtime,
  file: '.tool-versions',
  read: async (folder) => new RegExp(`^${tool}[ \\t]+(\\S{1,60})`, 'm').exec((await folder.head('.tool-versions')) ?? '')?.[1],
}))

/** Sources by precedence: pinned versions before ranges. The first one for a runtime wins. */
const sources: readonly Source[] = [
  { runtime: 'node', file: '.nvmrc', read: firstLine('.nvmrc') },
  { runtime: 'node', file: '.node-version', read: firstLine('.node-version') },
  { runtime: 'python', file: '.python-version', read: firstLine('.python-version') },
  {
    runtime: 'python',
    file: 'runtime.txt',
    read: async (folder) => /^python-([\d.]+)/.exec((await folder.head('runtime.txt')) ?? '')?.[1],
  },
  { runtime: 'ruby', file: '.ruby-version', read: firstLine('.ruby-version', /^ruby-/) },
  {
    runtime: 'rust',
    file: 'rust-toolchain.toml',
    read: async (folder) => textOf(dig(await folder.toml('rust-toolchain.toml'), 'toolchain', 'channel')),
  },
  {
    runtime: 'rust',
    file: 'rust-toolchain',
    // Either the channel alone, or the same TOML as in rust-toolchain.toml.
    read: async (folder) => {
      const line = await firstLine('rust-toolchain')(folder)
      return line?.startsWith('[') ? textOf(dig(await folder.toml('rust-toolchain'), 'toolchain', 'channel')) : line
    },
  },
  { runtime: 'java', file: '.java-version', read: firstLine('.java-version') },
  {
    runtime: 'java',
    file: 'system.properties',
    read: async (folder) =>
      /^java\.runtime\.version[ \t]*=[ \t]*(\S{1,60})/m.exec((await folder.head('system.properties')) ?? '')?.[1],
  },
  { runtime: 'php', file: '.php-version', read: firstLine('.php-version') },
  { runtime: 'bun', file: '.bun-version', read: firstLine('.bun-version') },
  {
    runtime: 'dotnet',
    file: 'global.json',
    read: async (folder) => textOf(dig(await folder.json('global.json'), 'sdk', 'version')),
  },
  ...toolVersions,
  { runtime: 'node', file: 'package.json', read: async (folder) => (await readNpm(folder))?.voltaNode },
  { runtime: 'node', file: 'package.json', read: async (folder) => (await readNpm(folder))?.engines.get('node') },
  { runtime: 'bun', file: 'package.json', read: async (folder) => (await readNpm(folder))?.engines.get('bun') },
  ...['pyproject.toml', 'Pipfile'].map((file) => ({ runtime: 'python', file, read: requiredPython(file) })),
  { runtime: 'go', file: 'go.mod', read: async (folder) => (await readGo(folder))?.go },
  { runtime: 'rust', file: 'Cargo.toml', read: async (folder) => (await readRust(folder))?.rust },
  { runtime: 'ruby', file: 'Gemfile', read: async (folder) => (await readRuby(folder))?.ruby },
  { runtime: 'php', file: 'composer.json', read: async (folder) => (await readPhp(folder))?.php },
  ...['pom.xml', 'build.gradle.kts', 'build.gradle'].map((file) => ({ runtime: 'java', file, read: requiredJava(file) })),
  { runtime: 'elixir', file: 'mix.exs', read: async (folder) => (await readElixir(folder))?.elixir },
  ...managerVersions,
]

function requiredPython(file: string): Source['read'] {
  return async (folder) => {
    const required = (await readPython(folder))?.requiresPython
    return required?.file === file ? required.version : null
  }
}

function requiredJava(file: string): Source['read'] {
  return async (folder) => {
    const manifest = await readJava(folder)
    return manifest?.file === file ? manifest.java : null
  }
}

export interface RuntimeVersions {
  versions: Record<string, string>
  evidence: Evidence[]
  warnings: string[]
}

/**
 * Versions as written, by the precedence of `sources`: a version file of a parent folder comes before a range in the app's
 * package.json. If several folders have the same source, the one nearest to the app wins.
 */
export async function runtimeVersions(app: App): Promise<RuntimeVersions> {
  const versions: Record<string, string> = {}
  const evidence: Evidence[] = []
  const warnings: string[] = []
  const report = (runtime: string, version: string, file: string) => {
    if (Object.hasOwn(versions, runtime)) return
    if (!/^[\w .*<>=^~|,!+/-]{1,60}$/.test(version)) {
      warnings.push(`${file} contains no valid version of ${runtime}`)
      return
    }
    versions[runtime] = version
    evidence.push({ file, says: `${runtime} ${version}` })
  }
  for (const { runtime, file, read } of sources)
    for (const folder of app.folder.upwards.filter((one) => one.has(file))) {
      const version = (await read(folder))?.trim()
      if (version) report(runtime, version, folder.full(file))
    }
  const framework = /^net(?:coreapp)?(\d+\.\d+)/.exec(app.manifests.dotnet?.targetFramework ?? '')?.[1]
  if (framework) report('dotnet', framework, app.folder.full(app.manifests.dotnet!.file))
  return { versions, evidence, warnings }
}
