import type { MountedFolder } from './bubblewrap.ts'
import type { Handover } from './handover.ts'
import { systemProgram } from './system-programs.ts'

/**
 * Isolation of projects on this machine.
 * `bubblewrap`: a project sees only its own files and processes. `own-users`: a project runs as its own user and sees what
 * every user of the machine sees. `none`: all projects run as Berth's user.
 */
export type IsolationKind = 'bubblewrap' | 'own-users' | 'none'

/** Numeric ids that a process runs under. They need no account on the machine. */
export interface ProcessUser {
  uid: number
  /** Group of this build or instance alone, by which its remaining processes are found. */
  gid: number
  /** Group that gives access to the artifact that is built or run. */
  artifactGid: number
}

export interface Launch extends Handover {
  user: ProcessUser | null
  groupFolders: readonly string[]
  /** File in which the process records its identity first, because the control plane may die before it stores that. */
  processFile: string | null
  /** Folders of the project. The handover uses the paths inside the sandbox (`at`). */
  shown: readonly MountedFolder[]
  /** Ends with the control plane, even if that is killed. */
  stopsWithControlPlane: boolean
}

/** A command line of Berth. The handover goes to its file descriptor 3. */
export interface Launched {
  program: string
  args: string[]
  env: Record<string, string>
  cwd: string
  handover: string
}

export interface Sandbox {
  readonly kind: IsolationKind
  /** Description for the log and the API. */
  readonly message: string
  readonly hasOwnUsers: boolean
  /** Every launch has its own process namespace, so its processes end together. */
  readonly hasPidNamespace: boolean
  /** Path inside the sandbox of a path in the runtime's folder. */
  pathInside(path: string): string
  /** Paths at, below or above which no volume can be mounted. Null: volumes cannot be mounted at all. */
  readonly reservedPaths: readonly string[] | null
  /** Folder of the Node that Berth runs on, as a path inside the sandbox. */
  nodeFolder(): string
  /** Folders of a search path that the project can use. */
  searchPath(path: string): string
  launch(launch: Launch): Launched
}

/** Command prefix that drops all privileges for good. */
export function dropPrivileges(setpriv: string, { uid, gid, artifactGid }: ProcessUser, canDropBounds: boolean): string[] {
  return [
    setpriv,
    `--reuid=${uid}`,
    `--regid=${gid}`,
    `--groups=${artifactGid}`,
    '--no-new-privs',
    '--inh-caps=-all',
    ...(canDropBounds ? ['--bounding-set=-all'] : []),
    '--',
  ]
}

/** Programs that switch users and mounts. Null without setpriv. */
export function rootTools(): { setpriv: string; mount: string | null; unshare: string | null } | null {
  const setpriv = systemProgram('setpriv')
  return setpriv ? { setpriv, mount: systemProgram('mount'), unshare: systemProgram('unshare') } : null
}
