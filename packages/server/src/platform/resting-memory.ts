import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { collectAll } from './steady-memory.ts'

/** Delay of the first collection: an eighth of the memory is garbage left by the start-up. */
const settledAfterMs = 3_000
const checkIntervalMs = 30_000
/** Event-loop utilization above which a collection would delay requests. */
const quiet = 0.1
const worthwhileBytes = 12 * 1024 * 1024
const maxAttempts = 5

/**
 * V8 runs a full collection only after many new allocations, so a process that was busy (many projects starting, a series of
 * deployments) and is then idle would keep that memory for ever. Returns a function that stops the checks.
 */
export function collectWhenQuiet(): () => void {
  const memory = new RestingMemory()
  const settled = setTimeout(() => memory.collect(), settledAfterMs).unref()
  const checking = setInterval(() => memory.check(), checkIntervalMs).unref()
  return () => {
    clearTimeout(settled)
    clearInterval(checking)
  }
}

export class RestingMemory {
  #lastCheck: EventLoopUtilization = performance.eventLoopUtilization()
  #enoughBytes = 0
  #inVain = 0

  check(): void {
    const { utilization } = performance.eventLoopUtilization(this.#lastCheck)
    this.#lastCheck = performance.eventLoopUtilization()
    if (utilization <= quiet && heldBytes() > this.#enoughBytes) this.collect()
  }

  collect(): void {
    collectAll()
    const wantedBytes = getHeapStatistics().used_heap_size + worthwhileBytes
    // V8 releases the space reserved for young objects only after some seconds with few allocations, so not at the first attempt.
    this.#inVain = heldBytes() > wantedBytes ? this.#inVain + 1 : 0
    this.#enoughBytes = this.#inVain < maxAttempts ? wantedBytes : heldBytes() + worthwhileBytes
  }
}

const heldBytes = (): number => getHeapStatistics().total_physical_size
