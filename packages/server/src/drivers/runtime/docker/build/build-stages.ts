import { ask, type Engine } from '../engine.ts'
import { namesOf, removeQuietly } from '../images.ts'
import type { Labels } from '../labels.ts'

/** One build by the classic builder, which tells of each image that it makes or finds again. */
export interface StagedBuild {
  saw(shortId: string): void
  /** Removes the stages of earlier builds of the project; those of this build stay, for the next one to go on from. */
  end(): Promise<void>
}

/** Images of stages and of unfinished builds that the classic builder leaves in the engine, by their label. */
export class BuildStages {
  readonly #engine: Engine
  readonly #labels: Labels
  readonly #running = new Map<string, number>()

  constructor(engine: Engine, labels: Labels) {
    this.#engine = engine
    this.#labels = labels
  }

  begin(projectId: string): StagedBuild {
    const seen = new Set<string>()
    this.#running.set(projectId, (this.#running.get(projectId) ?? 0) + 1)
    return {
      saw: (shortId) => seen.add(shortId),
      end: async () => {
        const others = (this.#running.get(projectId) ?? 1) - 1
        if (others > 0) this.#running.set(projectId, others)
        else this.#running.delete(projectId)
        // Another build of the project may need a stage that this one did not see.
        if (others === 0) await this.remove(projectId, (id) => seen.has(id.replace('sha256:', '').slice(0, 12)))
      },
    }
  }

  async remove(projectId: string, isKept: (id: string) => boolean = () => false): Promise<void> {
    const filters = this.#labels.filter('stage', { project: projectId })
    const images = await ask((abortSignal) => this.#engine.listImages({ filters, abortSignal }))
    for (const { Id, RepoTags } of images)
      if (!isKept(Id)) for (const name of namesOf(Id, RepoTags)) await removeQuietly(name, this.#engine)
  }
}
