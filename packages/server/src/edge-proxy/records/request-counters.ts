import type { RequestTotals } from '../protocol/request-record.ts'
import { TrafficCounters } from './traffic-counters.ts'

/** The counter of one project or deployment. Routes reference it, so that a request needs no look-up. */
export interface RequestCounter {
  total: number
  failed: number
  inFlight: number
  /** 0: never. */
  lastRequestAt: number
}

/** Counts for the control plane: ended requests, the last use of each project, and the hits of each rule. */
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

  requestTotals(id: string): RequestTotals {
    const { total, failed } = this.#projects.get(id) ?? this.#deployments.get(id) ?? { total: 0, failed: 0 }
    return { total, failed }
  }

  activity(now: number): Record<string, number> {
    const activity: Record<string, number> = {}
    for (const [id, counter] of this.#projects)
      if (counter.inFlight > 0) activity[id] = now
      else if (counter.lastRequestAt > 0) activity[id] = counter.lastRequestAt
    return activity
  }

  /** Removes counters whose id is neither in the current table nor in the previous one. */
  keepOnly(ids: ReadonlySet<string>, previousIds: ReadonlySet<string>): void {
    this.traffic.keepOnly(ids, previousIds)
    for (const counters of [this.#projects, this.#deployments])
      for (const [id, counter] of counters)
        if (!ids.has(id) && !previousIds.has(id) && counter.inFlight === 0) counters.delete(id)
  }
}

export function beginRequest(counter: RequestCounter, now: number): void {
  counter.inFlight += 1
  counter.lastRequestAt = now
}

export function endRequest(counter: RequestCounter, failed: boolean, now: number): void {
  counter.inFlight -= 1
  counter.lastRequestAt = now
  countRequest(counter, failed)
}

export function countRequest(counter: RequestCounter, failed: boolean): void {
  counter.total += 1
  if (failed) counter.failed += 1
}

function counterIn(counters: Map<string, RequestCounter>, id: string): RequestCounter {
  const existing = counters.get(id)
  if (existing) return existing
  const counter = { total: 0, failed: 0, inFlight: 0, lastRequestAt: 0 }
  counters.set(id, counter)
  return counter
}
