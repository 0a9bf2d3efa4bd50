import { restsUntil } from '../../../../platform/rests-until.ts'
import type { Room } from './disk-room.ts'
import type { Suspicion } from './disk-use.ts'

/** To look at those who only may have filled the disk takes at most this part of the time, however many they are. */
const shareOfTime = 1 / 10

interface OnDisk {
  /** By the clock of the machine; 0: never. */
  readonly diskLookedAt: number
  hasCauseForDiskLook(room: Room): boolean
  suspectOfFilling(room: Room): Promise<Suspicion>
  lookAtDisk(): Promise<void>
}

/**
 * Who looks when the disk has filled up. To add up a program's files is dear, and the disk is filled by builds and by other programs too: who
 * has written much since the last look is looked at at once, the others one after the other when there is time for it.
 */
export class DiskRounds {
  #isLooking = false
  #restsUntil = 0

  async go(all: readonly OnDisk[], room: Room): Promise<void> {
    let next: OnDisk | undefined
    for (const one of all) {
      if (!one.hasCauseForDiskLook(room)) continue
      const suspicion = await one.suspectOfFilling(room)
      if (suspicion === 'writes') void one.lookAtDisk()
      else if (suspicion === 'maybe' && (!next || one.diskLookedAt < next.diskLookedAt)) next = one
    }
    if (!next || this.#isLooking || performance.now() < this.#restsUntil) return
    const began = performance.now()
    this.#isLooking = true
    await next.lookAtDisk().finally(() => {
      this.#isLooking = false
      this.#restsUntil = restsUntil(began, shareOfTime)
    })
  }
}
