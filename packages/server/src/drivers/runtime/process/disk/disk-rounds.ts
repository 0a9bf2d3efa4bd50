import { pauseEnd } from '../../../../platform/pause-end.ts'
import type { Room } from './disk-room.ts'
import type { Suspicion } from './disk-use.ts'

/** Share of the time spent on measuring instances that may or may not have filled the disk, however many there are. */
const shareOfTime = 1 / 10

interface OnDisk {
  /** Wall clock time of the last measurement. 0: never. */
  readonly diskLookedAt: number
  needsDiskCheck(room: Room): boolean
  suspectOfFilling(room: Room): Promise<Suspicion>
  checkDisk(): Promise<void>
}

/**
 * Decides which instances to measure when the disk has filled up. Measuring is expensive, and builds and other programs fill
 * the disk as well. An instance that has written much since its last measurement is measured at once. The others are
 * measured one after the other, within a share of the time.
 */
export class DiskRounds {
  #isChecking = false
  #pauseEnd = 0

  async go(all: readonly OnDisk[], room: Room): Promise<void> {
    let next: OnDisk | undefined
    for (const one of all) {
      if (!one.needsDiskCheck(room)) continue
      const suspicion = await one.suspectOfFilling(room)
      if (suspicion === 'writes') void one.checkDisk()
      else if (suspicion === 'maybe' && (!next || one.diskLookedAt < next.diskLookedAt)) next = one
    }
    if (!next || this.#isChecking || performance.now() < this.#pauseEnd) return
    const began = performance.now()
    this.#isChecking = true
    await next.checkDisk().finally(() => {
      this.#isChecking = false
      this.#pauseEnd = pauseEnd(began, shareOfTime)
    })
  }
}
