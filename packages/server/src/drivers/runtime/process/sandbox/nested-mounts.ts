import { isBelow } from '../../mount-path.ts'
import { insideRoot, type MountedFolder } from './bubblewrap.ts'
import { systemProgram } from './system-programs.ts'

/** A folder that is mounted inside another folder of the project. */
export interface NestedMount {
  path: string
  /** Path of the folder inside the sandbox before the second mount. */
  from: string
  /** Path of the mount point, without symlinks of the sandbox. */
  at: string
  /** Path that the user set. */
  mountPath: string
  readOnly: boolean
}

/**
 * Splits the folders of a project by who creates their mount points. Another folder of the project may contain symlinks, and
 * bubblewrap would follow them out of the sandbox, with Berth's privileges. So a folder inside another one is mounted later,
 * inside the sandbox.
 */
export function splitNested(shown: readonly MountedFolder[]): { outer: MountedFolder[]; nested: NestedMount[] } {
  const aliased = shown.find(({ alias }) => alias !== undefined)
  const { at: app = '', alias = '' } = aliased ?? {}
  const realPath = (path: string) => (aliased && isBelow([alias], path) ? `${app}${path.slice(alias.length)}` : path)
  const outer: MountedFolder[] = []
  const nested: NestedMount[] = []
  for (const folder of shown) {
    const at = realPath(folder.at)
    const others = shown.flatMap((other) => (other === folder ? [] : [realPath(other.at)]))
    if (!isBelow(others, at)) outer.push(folder)
    else {
      const from = `${insideRoot}/nested/${nested.length}`
      nested.push({ path: folder.path, from, at, mountPath: folder.at, readOnly: folder.readOnly ?? false })
    }
  }
  return { outer, nested }
}

/**
 * The project's user creates the mount points: it owns them, and creates none where it has no access. The shell then enters
 * the folder and mounts on its working directory, never on a path: a symlink could place the volume over the programs that the
 * next stage runs with privileges.
 */
const script = `
drop=$1 mkdir=$2 mount=$3; shift 3
while [ "$1" != "--" ]; do
  $drop "$mkdir" -p -- "$2" && cd -- "$2" && [ "$(pwd -P)" = "$2" ] &&
    { [ "$mount" = "-" ] || "$mount" --no-canonicalize --bind -- "$1" .; } || {
    echo "The volume cannot be mounted at $3: the path is a file or leads through a symlink of the project. Remove it, or set another mountPath." >&2
    exit 125
  }
  cd /
  shift 3
done
shift
exec "$@"
`

interface NestedStage {
  bwrap: string
  /** Program that mounts, for root. Null: a second bubblewrap mounts, without privileges. */
  mount: string | null
  /** Command prefix that drops privileges. Its words contain no spaces. Empty without root. */
  drop: readonly string[]
}

/** Command line that mounts the nested folders inside the sandbox, drops the privileges and becomes the last stage. */
export function nestedStage(nested: readonly NestedMount[], stage: NestedStage, last: readonly string[]): string[] {
  const { bwrap, mount, drop } = stage
  if (nested.length === 0) return [...drop, ...last]
  const binds = nested.flatMap(({ from, at, readOnly }) => [readOnly ? '--ro-bind' : '--bind', from, at])
  const mounting = mount ? [] : [bwrap, '--dev-bind', '/', '/', ...binds, '--chdir', '/', '--']
  const mkdir = systemProgram('mkdir') ?? '/bin/mkdir'
  const mounts = nested.flatMap(({ from, at, mountPath }) => [from, at, mountPath])
  return ['/bin/sh', '-c', script, 'mounts', drop.join(' '), mkdir, mount ?? '-', ...mounts, '--', ...drop, ...mounting, ...last]
}
