import { readFile } from 'node:fs/promises'

/**
 * Bytes that processes have written to files since their start, including those of their ended children. Null where the
 * kernel does not report them. Space taken without writing (an empty file, a preallocation) is not included.
 */
export async function writtenBytes(pids: readonly number[]): Promise<number | null> {
  let sum = 0
  for (const pid of pids)
    try {
      sum += Number(/^write_bytes: (\d+)$/m.exec(await readFile(`/proc/${pid}/io`, 'latin1'))?.[1] ?? Number.NaN)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // The process has ended meanwhile. Its parent's count includes its bytes.
      if (code !== 'ENOENT' && code !== 'ESRCH') return null
    }
  return Number.isNaN(sum) ? null : sum
}
