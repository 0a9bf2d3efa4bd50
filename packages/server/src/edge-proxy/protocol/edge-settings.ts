import { join } from 'node:path'
import type { EdgeAddress, EdgeListening } from './edge-listening.ts'

/** What an edge process is started with; it reads nothing else. */
export interface EdgeSettings {
  /** Private folder for its socket, table, lock and log. */
  folder: string
  /** Another build than the running one takes over from it. */
  buildId: string
  http: EdgeAddress
  https: EdgeAddress | null
  /** Processes that serve, the first one included. */
  workers: number
  /** Goes away by itself after so long without a control plane; null: never. Tests set it, so that none is left behind. */
  orphanExitMs: number | null
  /** What runs: the Node binary, and the entry file of the edge. */
  program: string
  /** Flags for the program, before the entry. */
  flags: string[]
  entry: string
}

/** What the edge says of itself when a control plane attaches. */
export interface EdgeIdentity {
  pid: number
  buildId: string
  startedAt: string
  version: number
  /** Names the table in force; null before the first. */
  token: string | null
  listening: EdgeListening
  settings: EdgeSettings
}

export const edgeFiles = (folder: string) => ({
  socket: join(folder, 'control.sock'),
  table: join(folder, 'table.jsonl'),
  lock: join(folder, 'edge.lock'),
  log: join(folder, 'edge.log'),
})

/** Exit code of an edge that found another one in its folder. */
export const anotherEdgeRuns = 75

/** How the process was started: on its own, taking over from a running one, or as a further worker of one. */
export type EdgeRole = 'first' | 'successor' | 'worker'

export const edgeArguments = (settings: EdgeSettings, role: EdgeRole) => [
  ...settings.flags,
  settings.entry,
  role,
  JSON.stringify(settings),
]
