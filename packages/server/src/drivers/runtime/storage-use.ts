/** Disk usage of builds on one engine or machine. */
export interface StorageUsage {
  /** Bytes of deployments: images, folders and static pages. */
  artifactsBytes: number
  /** Bytes of the build cache. */
  cacheBytes: number
  /** Null: there is no such cache. */
  cacheMaxBytes: number | null
  projects: ProjectStorageUsage[]
  /** Null: the engine is on another machine, or the figures are unknown. */
  disk: { totalBytes: number; freeBytes: number } | null
}

export interface ProjectStorageUsage {
  projectId: string
  artifactsBytes: number
  cacheBytes: number
}

/** Sums up the disk usage per project. */
export class StorageUsageSum {
  artifactsBytes = 0
  cacheBytes = 0
  readonly #projects = new Map<string, ProjectStorageUsage>()

  add(kind: 'artifact' | 'cache', projectId: string, bytes: number): void {
    this[kind === 'artifact' ? 'artifactsBytes' : 'cacheBytes'] += bytes
    this.addToProject(kind, projectId, bytes)
  }

  /** Adds to the project and not to the total: bytes that projects share count once in the total. */
  addToProject(kind: 'artifact' | 'cache', projectId: string, bytes: number): void {
    const usage = this.#projects.get(projectId) ?? { projectId, artifactsBytes: 0, cacheBytes: 0 }
    usage[kind === 'artifact' ? 'artifactsBytes' : 'cacheBytes'] += bytes
    this.#projects.set(projectId, usage)
  }

  result(): Pick<StorageUsage, 'artifactsBytes' | 'cacheBytes' | 'projects'> {
    return { artifactsBytes: this.artifactsBytes, cacheBytes: this.cacheBytes, projects: [...this.#projects.values()] }
  }
}
