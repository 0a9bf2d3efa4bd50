import { callEngine, type Engine } from '../engine.ts'
import { namesOf, removeQuietly } from '../images.ts'
import type { Labels } from '../labels.ts'

/** A build by the classic builder, which reports each image that it creates or reuses. */
export interface StagedBuild {
  addImage(shortId: string): void
  /** Removes stages of earlier builds of the project. Stages of this build stay as a cache for the next one. */
  end(): Promise<void>
}

/** Images of stages and failed builds that the classic builder leaves in the engine, found by their label. */
export class BuildStages {
  readonly #engine: Engine
  readonly #labels: Labels
  readonly #running = new Map<string, number>()

  constructor(engine: Engine, labels: Labels) {
    this.#engine = engine
    this.#labels = labels
  }

  startBuild(projectId: string): StagedBuild {
    const seen = new Set<string>()
    this.#running.set(projectId, (this.#running.get(projectId) ?? 0) + 1)
    return {
      addImage: (shortId) => seen.add(shortId),
      end: async () => {
        const otherBuilds = (this.#running.get(projectId) ?? 1) - 1
        if (otherBuilds > 0) this.#running.set(projectId, otherBuilds)
        else this.#running.delete(projectId)
        // A parallel build of the project may need a stage that this build did not use.
        if (otherBuilds === 0) await this.remove(projectId, (id) => seen.has(id.replace('sha256:', '').slice(0, 12)))
      },
    }
  }

  async remove(projectId: string, isKept: (id: string) => boolean = () => false): Promise<void> {
    const filters = this.#labels.filter('stage', { project: projectId })
    const images = await callEngine((abortSignal) => this.#engine.listImages({ filters, abortSignal }))
    for (const { Id, RepoTags } of images)
      if (!isKept(Id)) for (const name of namesOf(Id, RepoTags)) await removeQuietly(name, this.#engine)
  }
}
