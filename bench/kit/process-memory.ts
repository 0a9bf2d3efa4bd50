import { readdir, readFile } from 'node:fs/promises'
import { instanceProcesses } from '../../tests/kit/instance-processes.ts'

export interface ProcessMemory {
  pid: number
  command: string
  /** Pages in memory, those shared with other processes too. */
  rssBytes: number
  /** Pages in memory, with each shared page divided among the processes that share it: the sum over processes is the true use. */
  pssBytes: number
}

/** Memory of a process and all its descendants. Linux only, since it is read from /proc. */
export async function memoryOfTree(root: number): Promise<{ rssBytes: number; pssBytes: number; processes: ProcessMemory[] }> {
  const children = await childrenByParent()
  const pids = [root]
  for (const pid of pids) pids.push(...(children.get(pid) ?? []))
  const processes = (await Promise.all(pids.map(memoryOf))).filter((memory) => memory !== undefined)
  const sum = (pick: (memory: ProcessMemory) => number) => processes.reduce((total, memory) => total + pick(memory), 0)
  return { rssBytes: sum(({ rssBytes }) => rssBytes), pssBytes: sum(({ pssBytes }) => pssBytes), processes }
}

/** Undefined once the process has exited. */
export async function memoryOf(pid: number): Promise<ProcessMemory | undefined> {
  try {
    const [rollup, command] = await Promise.all([
      readFile(`/proc/${pid}/smaps_rollup`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
    ])
    const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) * 1024
    return { pid, command: command.split('\0').join(' ').trim(), rssBytes: bytes('Rss'), pssBytes: bytes('Pss') }
  } catch {
    return undefined
  }
}

/** Resident memory of an instance's processes that answer requests: the one that was started, its worker and its API process. */
export async function residentBytesOfInstance(pid: number): Promise<number> {
  const memories = await Promise.all([pid, ...Object.values(instanceProcesses(pid))].map(memoryOf))
  return memories.reduce((sum, memory) => sum + (memory?.rssBytes ?? 0), 0)
}

async function childrenByParent(): Promise<Map<number, number[]>> {
  const children = new Map<number, number[]>()
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
      // The name before it stands in brackets and may hold anything, brackets too.
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      if (parent) children.set(parent, [...(children.get(parent) ?? []), pid])
    }),
  )
  return children
}
