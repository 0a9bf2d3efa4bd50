/**
 * The first stage, with whatever rights Berth has: writes down which process it is, joins the control groups, shows the
 * runtime's folder at its mount point, and becomes the next stage. All its words are ours and all programs have whole paths.
 */
const script = `
note=$1; shift
if [ "$note" != "-" ]; then
  read -r line 2>/dev/null < /proc/$$/stat || line=$$
  echo "$line" > "$note" || exit 125
fi
while [ "$1" != "--" ]; do
  echo $$ > "$1/cgroup.procs" || exit 125
  shift
done
shift
umask 022
if [ "$1" = "mount" ]; then
  "$2" --bind "$3" "$4" || exit 125
  shift 4
fi
exec "$@"
`

export interface FirstStage {
  note: string | null
  groupFolders: readonly string[]
  /** In a mount namespace of its own, so that nothing stays on the machine. */
  mount: { unshare: string; program: string; folder: string; at: string } | null
}

export function firstStage({ note, groupFolders, mount }: FirstStage, next: readonly string[]): string[] {
  const words = ['/bin/sh', '-c', script, 'launch', note ?? '-', ...groupFolders, '--']
  if (!mount) return [...words, ...next]
  return [mount.unshare, '--mount', '--', ...words, 'mount', mount.program, mount.folder, mount.at, ...next]
}
