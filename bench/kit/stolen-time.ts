import { readFileSync } from 'node:fs'

/** Ticks of all cores since the machine began: all of them, and those in which the host let another machine run. */
interface Ticks {
  all: number
  stolen: number
}

const now = (): Ticks => ticksOf(readFileSync('/proc/stat', 'utf8'))

/** Of the line `cpu user nice system idle iowait irq softirq steal guest …`; a guest's time is the user's already. */
export function ticksOf(stat: string): Ticks {
  const counts = (stat.split('\n', 1)[0] as string).split(/\s+/).slice(1, 9).map(Number)
  return { all: counts.reduce((sum, count) => sum + count, 0), stolen: counts[7] ?? 0 }
}

/** How much of the processor the host took away since it was begun, or since the last look: 0 to 1. */
export class StolenTime {
  #since = now()

  take(): number {
    const until = now()
    const { all, stolen } = this.#since
    this.#since = until
    return until.all === all ? 0 : (until.stolen - stolen) / (until.all - all)
  }
}
