import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { collectAll } from './steady-memory.ts'

/** What starting up took and nobody needs any more is an eighth of the memory. */
const settledAfterMs = 3_000
const lookEveryMs = 30_000
/** Of the event loop's time: above it somebody would wait for the collection. */
const quiet = 0.1
const worthwhileBytes = 12 * 1024 * 1024
const mostAttempts = 5

/**
 * V8 collects everything only once there is much that is new, so a program that was busy and then rests would keep for ever what it
 * needed then: many projects that start, or a row of deployments. The answer ends the looks.
 */
export function collectWhenQuiet(): () => void {
  const memory = new RestingMemory()
  const settled = setTimeout(() => memory.collect(), settledAfterMs).unref()
  const looking = setInterval(() => memory.look(), lookEveryMs).unref()
  return () => {
    clearTimeout(settled)
    clearInterval(looking)
  }
}

export class RestingMemory {
  #lastLook: EventLoopUtilization = performance.eventLoopUtilization()
  #enoughBytes = 0
  #inVain = 0

  look(): void {
    const { utilization } = performance.eventLoopUtilization(this.#lastLook)
    this.#lastLook = performance.eventLoopUtilization()
    if (utilization <= quiet && heldBytes() > this.#enoughBytes) this.collect()
  }

  collect(): void {
    collectAll()
    const wantedBytes = getHeapStatistics().used_heap_size + worthwhileBytes
    // V8 gives back what it has reserved for young objects when little was made for some seconds, so not at the first attempt.
    this.#inVain = heldBytes() > wantedBytes ? this.#inVain + 1 : 0
    this.#enoughBytes = this.#inVain < mostAttempts ? wantedBytes : heldBytes() + worthwhileBytes
  }
}

const heldBytes = (): number => getHeapStatistics().total_physical_size
