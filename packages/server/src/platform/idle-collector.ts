import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { collectAll } from './steady-memory.ts'

/** Delay of the first collection: an eighth of the memory is garbage left by the start-up. */
const startupDelayMs = 3_000
const checkIntervalMs = 30_000
/** Event-loop utilization above which a collection would delay requests. */
const maxUtilization = 0.1
const worthwhileBytes = 12 * 1024 * 1024
const maxAttempts = 5

/**
 * V8 runs a full collection only after many new allocations, so a process that was busy (many projects starting, a series of
 * deployments) and is then idle would keep that memory for ever. Returns a function that stops the checks.
 */
export function collectWhenIdle(): () => void {
  const memory = new IdleCollector()
  const startupTimer = setTimeout(() => memory.collect(), startupDelayMs).unref()
  const checking = setInterval(() => memory.check(), checkIntervalMs).unref()
  return () => {
    clearTimeout(startupTimer)
    clearInterval(checking)
  }
}

export class IdleCollector {
  #lastCheck: EventLoopUtilization = performance.eventLoopUtilization()
  #thresholdBytes = 0
  #failedAttempts = 0

  check(): void {
    const { utilization } = performance.eventLoopUtilization(this.#lastCheck)
    this.#lastCheck = performance.eventLoopUtilization()
    if (utilization <= maxUtilization && heapBytes() > this.#thresholdBytes) this.collect()
  }

  collect(): void {
    collectAll()
    const targetBytes = getHeapStatistics().used_heap_size + worthwhileBytes
    // V8 releases the space reserved for young objects only after some seconds with few allocations, so not at the first attempt.
    this.#failedAttempts = heapBytes() > targetBytes ? this.#failedAttempts + 1 : 0
    this.#thresholdBytes = this.#failedAttempts < maxAttempts ? targetBytes : heapBytes() + worthwhileBytes
  }
}

const heapBytes = (): number => getHeapStatistics().total_physical_size
