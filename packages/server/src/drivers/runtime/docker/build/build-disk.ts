import { restsUntil } from '../../../../platform/rests-until.ts'

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
  #restsUntil = 0

  constructor(limitMb: number, measure: () => Promise<number>, onOver: () => void) {
    this.#limitMb = limitMb
    this.#measure = measure
    this.#onOver = onOver
  }

  /** Called often. Measures when a measurement is due. A failed measurement is repeated. */
  async check(): Promise<void> {
    const began = performance.now()
    if (this.#isMeasuring || began < this.#restsUntil) return
    this.#isMeasuring = true
    const bytes = await this.#measure().catch(() => 0)
    this.#restsUntil = Math.max(restsUntil(began, shareOfTime), began + shortestPauseMs)
    this.#isMeasuring = false
    if (bytes > this.#limitMb * megabyte) this.#onOver()
  }
}

export const diskFullText = (who: string, limitMb: number) => `${who} exceeded the build disk limit of ${limitMb} MB`
