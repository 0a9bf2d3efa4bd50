import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseCommandLine } from '../../shell/command-line.ts'
import type { ControlGroup } from './cgroup.ts'

/**
 * Writes down which process it is, joins the control groups, gives up every right that it does not need, and becomes the
 * program. A file of ours with nothing pasted in: the note, the user, the groups and the program's words come as arguments.
 */
const script = `#!/bin/sh
# usage: launch <note or -> <uid or -> <group folder>... -- <program> <word>...
note=$1; user=$2; shift 2
if [ "$note" != "-" ]; then
  read -r line 2>/dev/null < /proc/$$/stat || line=$$
  echo "$line" > "$note" || exit 125
fi
while [ "$1" != "--" ]; do
  echo $$ > "$1/cgroup.procs" || exit 125
  shift
done
shift
unset note line OLDPWD
if [ "$user" = "-" ]; then exec "$@"; fi
exec setpriv --reuid="$user" --regid="$user" --clear-groups --no-new-privs -- "$@"
`

export interface Launch {
  group: ControlGroup | null
  uid: number | null
  /** The process writes its identity here before it does anything: whoever started it may die before it is known. */
  note: string | null
}

export interface Launcher {
  /** The words that start `argv` in the group and as the user. */
  wrap(argv: readonly string[], launch: Launch): string[]
}

export function createLauncher(folder: string): Launcher {
  let written: string | undefined
  return {
    wrap: (argv, { group, uid, note }) => {
      written ??= writeScript(folder)
      return [written, note ?? '-', uid === null ? '-' : String(uid), ...(group?.folders ?? []), '--', ...argv]
    },
  }
}

function writeScript(folder: string): string {
  const file = join(folder, 'launch')
  const draft = `${file}.${process.pid}`
  mkdirSync(folder, { recursive: true })
  writeFileSync(draft, script)
  chmodSync(draft, 0o755)
  renameSync(draft, file)
  return file
}

/** A user's command as words; what only a shell can do runs in a shell of the project's own, never with our data in it. */
export function wordsOf(command: string): string[] {
  const words = parseCommandLine(command)
  return Array.isArray(words) ? words : ['/bin/sh', '-c', command]
}
