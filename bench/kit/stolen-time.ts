import { readFileSync } from 'node:fs'

/** CPU ticks of all cores since boot: the total, and those in which the host ran another machine. */
interface Ticks {
  all: number
  stolen: number
}

const now = (): Ticks => ticksOf(readFileSync('/proc/stat', 'utf8'))

/** Parses the line `cpu user nice system idle iowait irq softirq steal guest …`; guest time is included in user time. */
export function ticksOf(stat: string): Ticks {
  const counts = (stat.split('\n', 1)[0] as string).split(/\s+/).slice(1, 9).map(Number)
  return { all: counts.reduce((sum, count) => sum + count, 0), stolen: counts[7] ?? 0 }
}

/** Share of CPU time that the host took away since the start or the last call: 0 to 1. */
export class StolenTime {
  #since = now()

  take(): number {
    const until = now()
    const { all, stolen } = this.#since
    this.#since = until
    return until.all === all ? 0 : (until.stolen - stolen) / (until.all - all)
  }
}
