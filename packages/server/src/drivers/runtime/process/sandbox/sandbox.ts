import type { Shown } from './bubblewrap.ts'
import type { Handover } from './handover.ts'
import { systemProgram } from './system-programs.ts'

/**
 * What keeps projects apart on this machine.
 * `bubblewrap`: each sees its own files and processes and nothing else. `own-users`: each runs as a user of its own and sees
 * what every user of the machine sees. `none`: all run as Berth's own user.
 */
export type IsolationKind = 'bubblewrap' | 'own-users' | 'none'

/** Numbers that a process runs under; no such user needs to exist on the machine. */
export interface Who {
  uid: number
  /** Of this build or instance alone: whatever it leaves behind is known by it. */
  gid: number
  /** Opens the one artifact that it is about. */
  artifactGid: number
}

export interface Launch extends Handover {
  who: Who | null
  groupFolders: readonly string[]
  /** The process writes its identity here before it does anything: whoever started it may die before it is known. */
  note: string | null
  /** The project's own folders. Paths in the handover are as `at` says. */
  shown: readonly Shown[]
  /** Ends with the control plane, however that ends. */
  endsWithUs: boolean
}

/** A command of ours. The handover goes to its file descriptor 3. */
export interface Launched {
  program: string
  args: string[]
  env: Record<string, string>
  cwd: string
  handover: string
}

export interface Sandbox {
  readonly kind: IsolationKind
  /** For the log and for whoever asks. */
  readonly words: string
  readonly hasOwnUsers: boolean
  /** Each launch has its processes in a namespace of its own: they end together. */
  readonly hasOwnProcesses: boolean
  /** Where a project finds a path of the runtime's folder. */
  seen(path: string): string
  /** Paths at, below or above which no volume can be mounted; null: volumes cannot be mounted at all. */
  readonly reservedPaths: readonly string[] | null
  /** The folder with the Node that Berth runs on, as the project finds it. */
  nodeFolder(): string
  /** What of a search path the project can use. */
  searchPath(path: string): string
  launch(launch: Launch): Launched
}

/** Words that give up every right but those of the user; what follows has no way back. */
export function dropRights(setpriv: string, { uid, gid, artifactGid }: Who, canDropBounds: boolean): string[] {
  return [
    setpriv,
    ...[`--reuid=${uid}`, `--regid=${gid}`, `--groups=${artifactGid}`, '--no-new-privs', '--inh-caps=-all'],
    ...(canDropBounds ? ['--bounding-set=-all'] : []),
    '--',
  ]
}

/** Root's tools, all or none. */
export function rootTools(): { setpriv: string; mount: string | null; unshare: string | null } | null {
  const setpriv = systemProgram('setpriv')
  return setpriv ? { setpriv, mount: systemProgram('mount'), unshare: systemProgram('unshare') } : null
}
