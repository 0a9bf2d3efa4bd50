/** The common fields of all manifests. */
export interface Manifest {
  /** The manifest's file, relative to the app's folder. */
  file: string
  name: string | null
  dependencies: Map<string, Dependency>
}

export interface Dependency {
  version: string | null
  file: string
}

/** Adds a dependency; the first entry of a name wins. */
export function addDependency(dependencies: Map<string, Dependency>, name: string, version: string | null, file: string): void {
  if (!dependencies.has(name)) dependencies.set(name, { version, file })
}
