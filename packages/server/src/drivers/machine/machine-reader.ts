import { statfs } from 'node:fs/promises'
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os'
import type { MachineReadings } from '../../platform/machines/machine-problems.ts'

export interface MachineReader {
  read(): Promise<MachineReadings>
}

export interface MachineReaderOptions {
  dataDir: string
  /** How many seconds the clock is ahead of another one; null: not compared. */
  clockOffset(): Promise<number | null>
  now?: () => number
}

/** Interval between two comparisons with another server's clock. */
const clockIntervalMs = 3_600_000

/** Reads the machine that this process runs on. */
export function createMachineReader({ dataDir, clockOffset, now = Date.now }: MachineReaderOptions): MachineReader {
  let clock: { comparedAt: number; offsetSeconds: Promise<number | null> } | undefined
  const offset = () => {
    if (!clock || now() - clock.comparedAt >= clockIntervalMs || now() < clock.comparedAt)
      clock = { comparedAt: now(), offsetSeconds: clockOffset() }
    return clock.offsetSeconds
  }
  return {
    async read() {
      const [{ bsize, bavail, blocks, files, ffree }, offsetSeconds] = await Promise.all([statfs(dataDir), offset()])
      const [oneMinute = 0, fiveMinutes = 0, fifteenMinutes = 0] = loadavg()
      return {
        disk: { totalBytes: blocks * bsize, freeBytes: bavail * bsize, totalInodes: files, freeInodes: ffree },
        // On Linux the available memory includes memory that the kernel can free, such as its file cache.
        memory: { totalBytes: totalmem(), availableBytes: freemem() },
        load: { oneMinute, fiveMinutes, fifteenMinutes, cores: availableParallelism() },
        clock: { offsetSeconds },
      }
    },
  }
}
