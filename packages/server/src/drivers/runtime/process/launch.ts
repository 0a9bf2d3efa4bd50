import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseCommandLine } from '../../shell/command-line.ts'
import type { ControlGroup } from './cgroup.ts'

/**
 * Joins the control groups, gives up every right that it does not need, and becomes the program. A file of ours with
 * nothing pasted in: the groups, the user and the program's words come as arguments.
 */
const script = `#!/bin/sh
# usage: launch <uid or -> <group folder>... -- <program> <word>...
user=$1; shift
while [ "$1" != "--" ]; do
  echo $$ > "$1/cgroup.procs" || exit 125
  shift
done
shift
if [ "$user" = "-" ]; then exec "$@"; fi
exec setpriv --reuid="$user" --regid="$user" --clear-groups --no-new-privs -- "$@"
`

export interface Launcher {
  /** The words that start \`argv\` in the group and as the user. */
  wrap(argv: readonly string[], group: ControlGroup | null, uid: number | null): string[]
}

export function createLauncher(folder: string): Launcher {
  const file = join(folder, 'launch')
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, script)
    chmodSync(file, 0o755)
  }
  return {
    wrap: (argv, group, uid) => [file, uid === null ? '-' : String(uid), ...(group?.folders ?? []), '--', ...argv],
  }
}

/** A user's command as words; what only a shell can do runs in a shell of the project's own, never with our data in it. */
export function wordsOf(command: string): string[] {
  const words = parseCommandLine(command)
  return Array.isArray(words) ? words : ['/bin/sh', '-c', command]
}
