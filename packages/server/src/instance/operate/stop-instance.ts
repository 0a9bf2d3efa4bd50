import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import manifest from '../../../package.json' with { type: 'json' }
import { killLeftProcesses, listLeftProcesses } from '../../drivers/runtime/process/left-processes.ts'
import { liveProjectsHere, stopLocalInstances } from '../../modules/deployments/index.ts'
import { projectSlugs } from '../../modules/projects/index.ts'
import type { Config } from '../config/config.ts'
import { DataFolderInUse, openDataFolder } from '../data-folder.ts'
import { currentHolder, type FolderHolder } from '../data-folder-holder.ts'
import { processFolder } from '../drivers/choose-runtime.ts'
import { createDrivers, edgeFolder } from '../drivers/drivers.ts'
import { openInstanceContext } from '../instance-context.ts'

export interface StopResult {
  /** restarted: a control plane has started meanwhile. nothing: there was nothing to stop. */
  outcome: 'stopped' | 'restarted' | 'nothing'
  /** Slugs of the projects that were stopped. */
  projects: string[]
}

const pollMs = 250
const maxStopMs = 40_000
const graceSeconds = 3

/**
 * Stops the instance of a data folder: its control plane if one runs, the edge, and the projects on this machine. The next start
 * starts the projects again. `report` gets the names of the projects before they are stopped.
 */
export async function stopInstance(config: Config, report: (projects: string[]) => void): Promise<StopResult> {
  if (!existsSync(config.dataDir)) return { outcome: 'nothing', projects: [] }
  const holder = currentHolder(config.dataDir)
  const isRunning = holder !== undefined || existsSync(edgeFolder(config.dataDir))
  const projects = await readLiveProjects(config)
  report(projects)
  if (holder) await stopControlPlane(holder, config.dataDir)
  await stopLeftRunning(config)
  return { outcome: isRunning ? 'stopped' : 'nothing', projects }
}

/**
 * Waits for the next control plane after one that has ended. If none starts in time, stops the edge and the plain processes that
 * it left running. Containers are the engine's and keep running.
 */
export async function stopUnlessRestarted(config: Config, waitMs: number): Promise<StopResult> {
  const { dataDir } = config
  const left = listLeftProcesses(processFolder(dataDir))
  for (const until = performance.now() + waitMs; performance.now() < until; await pause(pollMs)) {
    // The edge ends by itself when its folder is removed. The processes do not, and no other record of them is left.
    if (!existsSync(dataDir)) {
      await killLeftProcesses(left)
      return { outcome: 'stopped', projects: [] }
    }
    if (currentHolder(dataDir)) return { outcome: 'restarted', projects: [] }
  }
  try {
    await stopLeftRunning(config, { leavesContainers: true })
    return { outcome: 'stopped', projects: [] }
  } catch (error) {
    if (error instanceof DataFolderInUse) return { outcome: 'restarted', projects: [] }
    throw error
  }
}

async function readLiveProjects(config: Config): Promise<string[]> {
  const context = await openInstanceContext(config)
  try {
    const { db } = context.database
    return await projectSlugs(db, await liveProjectsHere(db))
  } finally {
    await context.close()
  }
}

async function stopControlPlane({ pid, host }: FolderHolder, dataDir: string): Promise<void> {
  if (host !== hostname()) throw new DataFolderInUse(`${dataDir} is in use by a process on ${host}. Run berth down there.`)
  process.kill(pid, 'SIGINT')
  const giveUpAt = performance.now() + maxStopMs
  while (currentHolder(dataDir)?.pid === pid) {
    if (performance.now() > giveUpAt) throw new DataFolderInUse(`The control plane (pid ${pid}) has not stopped yet. Try again.`)
    await pause(pollMs)
  }
}

/** Stops what runs without a control plane: first the edge, which finishes its requests, then the projects. */
async function stopLeftRunning(config: Config, { leavesContainers = false } = {}): Promise<void> {
  const folder = await openDataFolder(config.dataDir, { purpose: 'down', version: manifest.version })
  try {
    const context = await openInstanceContext(config)
    try {
      const { edge, runtimes } = await createDrivers(config, manifest.version, context.logger)
      await edge.stop({ keepServing: false })
      const runtime = runtimes.for(null)
      if (runtime.kind === 'process' || !leavesContainers) await stopLocalInstances(runtime, graceSeconds)
      await runtimes.close()
    } finally {
      await context.close()
    }
  } finally {
    folder.release()
  }
}
