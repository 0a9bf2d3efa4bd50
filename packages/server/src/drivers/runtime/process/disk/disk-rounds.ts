import { pauseEnd } from '../../../../platform/pause-end.ts'
import type { Suspicion } from './disk-use.ts'
import type { FreeSpace } from './free-space.ts'

/** Share of the time spent on measuring instances that may or may not have filled the disk, however many there are. */
const maxMeasuringShare = 1 / 10

interface MeasuredInstance {
  /** Wall clock time of the last measurement. 0: never. */
  readonly diskMeasuredAt: number
  needsDiskCheck(freeSpace: FreeSpace): boolean
  assessDiskWrites(freeSpace: FreeSpace): Promise<Suspicion>
  checkDisk(): Promise<void>
}

/**
 * Decides which instances to measure when the disk has filled up. Measuring is expensive, and builds and other programs fill
 * the disk as well. An instance that has written much since its last measurement is measured at once. The others are
 * measured one after the other, within a share of the time.
 */
export class DiskRounds {
  #isChecking = false
  #nextMeasureAt = 0

  async measureDue(instances: readonly MeasuredInstance[], freeSpace: FreeSpace): Promise<void> {
    let next: MeasuredInstance | undefined
    for (const instance of instances) {
      if (!instance.needsDiskCheck(freeSpace)) continue
      const suspicion = await instance.assessDiskWrites(freeSpace)
      if (suspicion === 'writes') void instance.checkDisk()
      else if (suspicion === 'maybe' && (!next || instance.diskMeasuredAt < next.diskMeasuredAt)) next = instance
    }
    if (!next || this.#isChecking || performance.now() < this.#nextMeasureAt) return
    const startedAt = performance.now()
    this.#isChecking = true
    await next.checkDisk().finally(() => {
      this.#isChecking = false
      this.#nextMeasureAt = pauseEnd(startedAt, maxMeasuringShare)
    })
  }
}
