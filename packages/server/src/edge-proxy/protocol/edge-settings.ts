import { join } from 'node:path'
import type { EdgeAddress, EdgeListening } from './edge-listening.ts'

/** The settings that an edge process is started with; it reads no others. */
export interface EdgeSettings {
  /** Private folder for its socket, table, lock and log. */
  folder: string
  /** An edge with another build id takes over from the running one. */
  buildId: string
  http: EdgeAddress
  https: EdgeAddress | null
  /** nginx listens on these addresses, and this edge behind it. Absent: the edge listens on them itself. */
  front?: EdgeFront
  /** Number of serving processes, including the first one. */
  workers: number
  /** Exits after this long without a control plane; null: never. Tests set it, so that no process remains. */
  orphanExitMs: number | null
  /** The Node binary. */
  program: string
  /** Flags for the program, before the entry. */
  flags: string[]
  entry: string
}

/** nginx in front of the edge. */
export interface EdgeFront {
  /** Folder of nginx: see `nginxFiles`. */
  folder: string
  /** The user that the workers of nginx run as, and the only one that may open the socket; null: the user of the edge. */
  uid: number | null
}

/** Self-description that the edge sends when a control plane attaches. */
export interface EdgeIdentity {
  pid: number
  buildId: string
  startedAt: string
  version: number
  /** Id of the current table; null before the first. */
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

/** How the process was started: alone, taking over from a running edge, or as a further worker. */
export type EdgeRole = 'first' | 'successor' | 'worker'

export const edgeArguments = (settings: EdgeSettings, role: EdgeRole) => [
  ...settings.flags,
  settings.entry,
  role,
  JSON.stringify(settings),
]
