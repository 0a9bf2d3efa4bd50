import { readFile } from 'node:fs/promises'

/** Linux counts in hundredths of a second, on every architecture that we run on. */
const tickMs = 10

/** Processor time that a process has used so far. Unlike requests per second it hardly depends on what else the machine does. */
export async function cpuMsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}
