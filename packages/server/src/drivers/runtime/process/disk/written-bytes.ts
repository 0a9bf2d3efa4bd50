import { readFile } from 'node:fs/promises'

/**
 * What processes have written to files since their start, with what their ended children had. Null where nobody may know. What takes up room
 * without being written (an empty file, a reservation) is not in it.
 */
export async function writtenBytes(pids: readonly number[]): Promise<number | null> {
  let sum = 0
  for (const pid of pids)
    try {
      sum += Number(/^write_bytes: (\d+)$/m.exec(await readFile(`/proc/${pid}/io`, 'latin1'))?.[1] ?? Number.NaN)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // It has ended meanwhile: its parent has what it wrote.
      if (code !== 'ENOENT' && code !== 'ESRCH') return null
    }
  return Number.isNaN(sum) ? null : sum
}
