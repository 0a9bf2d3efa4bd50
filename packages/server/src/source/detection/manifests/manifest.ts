/** What every language's own file says of a project. */
export interface Manifest {
  /** The file that says so, as named in the app's folder. */
  file: string
  name: string | null
  dependencies: Map<string, Dependency>
}

export interface Dependency {
  version: string | null
  file: string
}

/** The first word for a dependency stands: the manifest before what only adds to it. */
export function addDependency(dependencies: Map<string, Dependency>, name: string, version: string | null, file: string): void {
  if (!dependencies.has(name)) dependencies.set(name, { version, file })
}
