import { pauseEnd } from '../../../../platform/pause-end.ts'

const megabyte = 1024 * 1024
/** Highest share of the time spent on measuring. */
const shareOfTime = 1 / 5
const shortestPauseMs = 500

/** Limits the bytes that a build writes. */
export class BuildDisk {
  readonly #limitMb: number
  readonly #measure: () => Promise<number>
  readonly #onOver: () => void
  #isMeasuring = false
  #pauseEnd = 0

  constructor(limitMb: number, measure: () => Promise<number>, onOver: () => void) {
    this.#limitMb = limitMb
    this.#measure = measure
    this.#onOver = onOver
  }

  /** Called often. Measures when a measurement is due. A failed measurement is repeated. */
  async check(): Promise<void> {
    const began = performance.now()
    if (this.#isMeasuring || began < this.#pauseEnd) return
    this.#isMeasuring = true
    const bytes = await this.#measure().catch(() => 0)
    this.#pauseEnd = Math.max(pauseEnd(began, shareOfTime), began + shortestPauseMs)
    this.#isMeasuring = false
    if (bytes > this.#limitMb * megabyte) this.#onOver()
  }
}

export const diskFullText = (who: string, limitMb: number) => `${who} exceeded the build disk limit of ${limitMb} MB`
