import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { memoryOfTree, type ProcessMemory } from '../process-memory.ts'
import type { Sample, Tolerance } from './trend.ts'

const mb = 1_000_000

/**
 * The measures and how far each may rise within the last two thirds of the run. Logs are kept up to 64 MB a project and the database
 * keeps the history of deployments, runs and writes: both rise by design and have a tolerance of their own.
 */
export const measures = {
  'control plane, PSS': { tolerance: { part: 0.1, atLeast: 15 * mb }, unit: 'bytes' },
  'edge, PSS': { tolerance: { part: 0.1, atLeast: 10 * mb }, unit: 'bytes' },
  'control plane, descriptors': { tolerance: { part: 0.05, atLeast: 8 }, unit: 'count' },
  'edge, descriptors': { tolerance: { part: 0.05, atLeast: 8 }, unit: 'count' },
  processes: { tolerance: { part: 0.1, atLeast: 5 }, unit: 'count' },
  'disk, logs': { tolerance: { part: 0, atLeast: 64 * mb }, unit: 'bytes' },
  'disk, database': { tolerance: { part: 0, atLeast: 15 * mb }, unit: 'bytes' },
  'disk, everything else': { tolerance: { part: 0.1, atLeast: 5 * mb }, unit: 'bytes' },
} as const satisfies Record<string, { tolerance: Tolerance; unit: 'bytes' | 'count' }>
export type Measure = keyof typeof measures

export type Samples = Record<Measure, Sample[]>

/** Disk usage by the first part of the path below the data folder. */
export type DiskUse = Map<string, number>

export interface Measured {
  values: Record<Measure, number>
  disk: DiskUse
}

/** Measures the instance from outside, with /proc and the data folder. */
export async function measure(pid: number, dataFolder: string): Promise<Measured> {
  const [{ processes }, disk] = await Promise.all([memoryOfTree(pid), diskUse(dataFolder)])
  const controlPlane = processes.filter(({ command }) => controlPlaneCommand.test(command))
  const edge = processes.filter(({ command }) => edgeCommand.test(command))
  const values = {
    'control plane, PSS': sum(controlPlane.map(({ pssBytes }) => pssBytes)),
    'edge, PSS': sum(edge.map(({ pssBytes }) => pssBytes)),
    'control plane, descriptors': await descriptorsOf(controlPlane),
    'edge, descriptors': await descriptorsOf(edge),
    processes: processes.length,
    ...diskValues(disk),
  }
  return { values, disk }
}

/** The long-running processes: `berth up`, and its API process and worker if they are separate. */
const controlPlaneCommand = /\/berth\.js up|\/dist\/(api|worker|main)\.js/
const edgeCommand = /\/dist\/edge\.js/

async function descriptorsOf(processes: readonly ProcessMemory[]): Promise<number> {
  const open = processes.map(async ({ pid }) => (await readdir(`/proc/${pid}/fd`).catch(() => [])).length)
  return sum(await Promise.all(open))
}

function diskValues(disk: DiskUse) {
  const of = (matches: (name: string) => boolean) => sum([...disk].flatMap(([name, bytes]) => (matches(name) ? [bytes] : [])))
  const isDatabase = (name: string) => name.startsWith('berth.db')
  return {
    'disk, logs': of((name) => name === 'logs'),
    'disk, database': of(isDatabase),
    'disk, everything else': of((name) => name !== 'logs' && !isDatabase(name)),
  }
}

/** Counts the bytes on the disk; a file with several hard links counts once. */
async function diskUse(root: string): Promise<DiskUse> {
  const use: DiskUse = new Map()
  const seen = new Set<string>()
  const visit = async (folder: string, top: string | null): Promise<void> => {
    const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const path = join(folder, entry.name)
      const stat = await lstat(path).catch(() => undefined)
      if (!stat || seen.has(`${stat.dev}:${stat.ino}`)) continue
      if (stat.nlink > 1 && !stat.isDirectory()) seen.add(`${stat.dev}:${stat.ino}`)
      const name = top ?? entry.name
      use.set(name, (use.get(name) ?? 0) + stat.blocks * 512)
      if (stat.isDirectory()) await visit(path, name)
    }
  }
  await visit(root, null)
  return use
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
