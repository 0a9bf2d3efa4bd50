/** Disk usage of builds on one engine or machine. */
export interface StorageUse {
  /** Bytes of deployments: images, folders and pages. */
  artifactsBytes: number
  /** Bytes of the build cache, which only makes later builds faster. */
  cacheBytes: number
  /** null: there is no such cache. */
  cacheMaxBytes: number | null
  projects: ProjectUse[]
  /** null: on another machine, or not known. */
  disk: { totalBytes: number; freeBytes: number } | null
}

export interface ProjectUse {
  projectId: string
  artifactsBytes: number
  cacheBytes: number
}

/** Adds up what belongs to whom. */
export class BuildsUse {
  artifactsBytes = 0
  cacheBytes = 0
  readonly #projects = new Map<string, ProjectUse>()

  add(kind: 'artifact' | 'cache', projectId: string, bytes: number): void {
    this[kind === 'artifact' ? 'artifactsBytes' : 'cacheBytes'] += bytes
    this.addTo(kind, projectId, bytes)
  }

  /** To the project alone: what several projects share counts once in the sum. */
  addTo(kind: 'artifact' | 'cache', projectId: string, bytes: number): void {
    const use = this.#projects.get(projectId) ?? { projectId, artifactsBytes: 0, cacheBytes: 0 }
    use[kind === 'artifact' ? 'artifactsBytes' : 'cacheBytes'] += bytes
    this.#projects.set(projectId, use)
  }

  show(): Pick<StorageUse, 'artifactsBytes' | 'cacheBytes' | 'projects'> {
    return { artifactsBytes: this.artifactsBytes, cacheBytes: this.cacheBytes, projects: [...this.#projects.values()] }
  }
}
