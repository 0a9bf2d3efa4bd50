import { readdir, readFile } from 'node:fs/promises'
import { instanceProcesses } from '../../tests/kit/instance-processes.ts'

/** Ticks of /proc/<pid>/stat per second: 100 on every architecture that Berth supports. */
const tickMs = 10

/** CPU time that a process has used so far. Unlike requests per second it hardly depends on other load on the machine. */
export async function cpuMsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

/** CPU time of all threads in nanosecond precision: the ticks of /proc/<pid>/stat are too coarse for short runs. */
export async function cpuSecondsOfThreads(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`)
  const spent = await Promise.all(
    threads.map(async (thread) => Number((await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')).split(' ')[0])),
  )
  return spent.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e9
}

/** CPU time of an instance's processes that answer requests: the one that was started, its worker and its API process. */
export async function cpuSecondsOfInstance(pid: number): Promise<number> {
  const spent = await Promise.all([pid, ...Object.values(instanceProcesses(pid))].map(cpuSecondsOfThreads))
  return spent.reduce((sum, seconds) => sum + seconds, 0)
}
