import { pauseEnd } from '../../../../platform/pause-end.ts'

const megabyte = 1024 * 1024
/** Highest share of the time spent on measuring. */
const maxMeasuringShare = 1 / 5
const minPauseMs = 500

/** Limits the bytes that a build writes. */
export class BuildDisk {
  readonly #limitMb: number
  readonly #measure: () => Promise<number>
  readonly #onExceeded: () => void
  #isMeasuring = false
  #nextMeasureAt = 0

  constructor(limitMb: number, measure: () => Promise<number>, onExceeded: () => void) {
    this.#limitMb = limitMb
    this.#measure = measure
    this.#onExceeded = onExceeded
  }

  /** Called often. Measures when a measurement is due. A failed measurement is repeated. */
  async check(): Promise<void> {
    const startedAt = performance.now()
    if (this.#isMeasuring || startedAt < this.#nextMeasureAt) return
    this.#isMeasuring = true
    const bytes = await this.#measure().catch(() => 0)
    this.#nextMeasureAt = Math.max(pauseEnd(startedAt, maxMeasuringShare), startedAt + minPauseMs)
    this.#isMeasuring = false
    if (bytes > this.#limitMb * megabyte) this.#onExceeded()
  }
}

export const diskFullText = (subject: string, limitMb: number) => `${subject} exceeded the build disk limit of ${limitMb} MB`
