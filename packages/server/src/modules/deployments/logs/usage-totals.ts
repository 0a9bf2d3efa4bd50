import type { InstanceUsage } from '../../../drivers/runtime/runtime.ts'

/** CPU time since this process started and current memory, by environment. */
export class UsageTotals {
  readonly #cpuMs = new Map<string, number>()
  #memoryBytes: ReadonlyMap<string, number> = new Map()

  addCpu(projectId: string, environment: string, ms: number): void {
    const key = keyOf(projectId, environment)
    this.#cpuMs.set(key, (this.#cpuMs.get(key) ?? 0) + ms)
  }

  /** Replaces the memory of all environments by that of the instances that were measured. */
  setMemory(measured: readonly Pick<InstanceUsage, 'owner' | 'memoryBytes'>[]): void {
    const sums = new Map<string, number>()
    for (const { owner, memoryBytes } of measured) {
      const key = keyOf(owner.projectId, owner.environment)
      sums.set(key, (sums.get(key) ?? 0) + memoryBytes)
    }
    this.#memoryBytes = sums
  }

  cpuSeconds(projectId: string, environment: string): number | undefined {
    const ms = this.#cpuMs.get(keyOf(projectId, environment))
    return ms === undefined ? undefined : ms / 1000
  }

  memoryBytes(projectId: string, environment: string): number | undefined {
    return this.#memoryBytes.get(keyOf(projectId, environment))
  }

  /** Forgets environments that no longer exist. */
  keepOnly(environments: Iterable<{ projectId: string; slug: string }>): void {
    const existing = new Set(Array.from(environments, ({ projectId, slug }) => keyOf(projectId, slug)))
    for (const key of this.#cpuMs.keys()) if (!existing.has(key)) this.#cpuMs.delete(key)
  }
}

const keyOf = (projectId: string, environment: string) => `${projectId}/${environment}`
