import { setTimeout as pause } from 'node:timers/promises'
import { type DiskUse, type Measure, measure, measures, type Samples } from './measure.ts'

const everyMs = 10_000

/** Measures the instance every 10 s and keeps every sample. */
export class Sampler {
  readonly samples = Object.fromEntries(Object.keys(measures).map((name) => [name, []])) as unknown as Samples
  /** The disk by folder, one entry a sample. */
  readonly disk: DiskUse[] = []
  readonly #pid: number
  readonly #dataFolder: string

  constructor(pid: number, dataFolder: string) {
    this.#pid = pid
    this.#dataFolder = dataFolder
  }

  async run(ending: AbortSignal): Promise<void> {
    const begun = performance.now()
    while (!ending.aborted) {
      const atSeconds = (performance.now() - begun) / 1000
      const { values, disk } = await measure(this.#pid, this.#dataFolder)
      for (const [name, value] of Object.entries(values)) this.samples[name as Measure].push({ atSeconds, value })
      this.disk.push(disk)
      await pause(everyMs, undefined, { signal: ending }).catch(() => undefined)
    }
  }
}
