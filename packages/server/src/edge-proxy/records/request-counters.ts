import type { SwitchCounters } from '../protocol/request-record.ts'
import { TrafficCounters } from './traffic-counters.ts'

/** The running counter of one project or deployment. Routes hold theirs, so that a request costs no look-up. */
export interface RequestCounter {
  total: number
  failed: number
  underWay: number
  /** 0: never. */
  lastRequestAt: number
}

/** Numbers the control plane asks for: how requests ended, when a project was last used, which rules struck. */
export class RequestCounters {
  readonly traffic = new TrafficCounters()
  readonly #projects = new Map<string, RequestCounter>()
  readonly #deployments = new Map<string, RequestCounter>()
  #hits = new Map<string, number>()

  project(id: string): RequestCounter {
    return counterIn(this.#projects, id)
  }

  deployment(id: string): RequestCounter {
    return counterIn(this.#deployments, id)
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
    const { total, failed } = this.#projects.get(id) ?? this.#deployments.get(id) ?? { total: 0, failed: 0 }
    return { total, failed }
  }

  activity(now: number): Record<string, number> {
    const activity: Record<string, number> = {}
    for (const [id, counter] of this.#projects)
      if (counter.underWay > 0) activity[id] = now
      else if (counter.lastRequestAt > 0) activity[id] = counter.lastRequestAt
    return activity
  }

  /** Forgets what neither the table in force nor the one before it names. */
  keepOnly(ids: ReadonlySet<string>, idsBefore: ReadonlySet<string>): void {
    this.traffic.keepOnly(ids, idsBefore)
    for (const counters of [this.#projects, this.#deployments])
      for (const [id, counter] of counters) if (!ids.has(id) && !idsBefore.has(id) && counter.underWay === 0) counters.delete(id)
  }
}

export function beginRequest(counter: RequestCounter, now: number): void {
  counter.underWay += 1
  counter.lastRequestAt = now
}

export function endRequest(counter: RequestCounter, failed: boolean, now: number): void {
  counter.underWay -= 1
  counter.lastRequestAt = now
  countRequest(counter, failed)
}

export function countRequest(counter: RequestCounter, failed: boolean): void {
  counter.total += 1
  if (failed) counter.failed += 1
}

function counterIn(counters: Map<string, RequestCounter>, id: string): RequestCounter {
  const known = counters.get(id)
  if (known) return known
  const counter = { total: 0, failed: 0, underWay: 0, lastRequestAt: 0 }
  counters.set(id, counter)
  return counter
}
