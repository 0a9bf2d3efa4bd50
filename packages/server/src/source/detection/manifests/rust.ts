import { dig, recordOf, textOf, textsOf } from '../../values.ts'
import type { Folder } from '../folder.ts'
import { addDependency, type Dependency, type Manifest } from './manifest.ts'

export interface RustManifest extends Manifest {
  isPackage: boolean
  members: string[]
  /** Programs of `[[bin]]`, in order. */
  binaries: string[]
  defaultRun: string | null
  rust: string | null
}

export const readRust = (folder: Folder): Promise<RustManifest | null> => folder.once('rust', () => read(folder))

async function read(folder: Folder): Promise<RustManifest | null> {
  const file = 'Cargo.toml'
  const toml = recordOf(await folder.toml(file))
  if (Object.keys(toml).length === 0) return null
  const dependencies = new Map<string, Dependency>()
  for (const [name, value] of Object.entries(recordOf(toml.dependencies)))
    addDependency(dependencies, name, textOf(value) ?? textOf(dig(value, 'version')), file)
  const bins = Array.isArray(toml.bin) ? toml.bin : []
  return {
    file,
    name: textOf(dig(toml, 'package', 'name')),
    dependencies,
    isPackage: toml.package !== undefined,
    members: textsOf(dig(toml, 'workspace', 'members')),
    binaries: bins.flatMap((bin) => textOf(dig(bin, 'name')) ?? []),
    defaultRun: textOf(dig(toml, 'package', 'default-run')),
    rust: textOf(dig(toml, 'package', 'rust-version')),
  }
}
