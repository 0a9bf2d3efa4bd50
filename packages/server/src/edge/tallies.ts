import type { SwitchCounters } from '../drivers/edge/edge.ts'

/** Numbers the control plane asks for: how requests ended, when a project was last used, which rules struck. */
export class Tallies {
  readonly #ended = new Map<string, SwitchCounters>()
  readonly #lastRequestAt = new Map<string, number>()
  readonly #underWay = new Map<string, number>()
  #hits = new Map<string, number>()

  begin(projectId: string, now: number): void {
    this.#lastRequestAt.set(projectId, now)
    this.#underWay.set(projectId, (this.#underWay.get(projectId) ?? 0) + 1)
  }

  end(projectId: string, deploymentId: string | null, failed: boolean, now: number): void {
    this.#lastRequestAt.set(projectId, now)
    const left = (this.#underWay.get(projectId) ?? 1) - 1
    if (left > 0) this.#underWay.set(projectId, left)
    else this.#underWay.delete(projectId)
    this.#count(projectId, failed)
    if (deploymentId !== null) this.#count(deploymentId, failed)
  }

  hit(ruleId: string): void {
    this.#hits.set(ruleId, (this.#hits.get(ruleId) ?? 0) + 1)
  }

  takeHits(): Record<string, number> {
    const hits = Object.fromEntries(this.#hits)
    this.#hits = new Map()
    return hits
  }

  switchCounters(id: string): SwitchCounters {
    return { ...(this.#ended.get(id) ?? { total: 0, failed: 0 }) }
  }

  activity(now: number): Record<string, number> {
    const activity = Object.fromEntries(this.#lastRequestAt)
    for (const projectId of this.#underWay.keys()) activity[projectId] = now
    return activity
  }

  /** Forgets what no table names; requests that are still under way to it count once more and are forgotten next time. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const map of [this.#ended, this.#lastRequestAt])
      for (const id of map.keys()) if (!ids.has(id) && !this.#underWay.has(id)) map.delete(id)
  }

  #count(id: string, failed: boolean): void {
    const counters = this.#ended.get(id)
    if (!counters) {
      this.#ended.set(id, { total: 1, failed: failed ? 1 : 0 })
      return
    }
    counters.total += 1
    if (failed) counters.failed += 1
  }
}
