/**
 * The first stage, with Berth's own privileges: records its process, joins the control groups, mounts the runtime's folder,
 * and becomes the next stage. It uses only arguments of Berth and absolute paths of programs.
 */
const script = `
file=$1; shift
if [ "$file" != "-" ]; then
  read -r line 2>/dev/null < /proc/$$/stat || line=$$
  read -r boot 2>/dev/null < /proc/sys/kernel/random/boot_id || boot=
  printf '%s\\n%s\\n' "$line" "$boot" > "$file" || exit 125
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
  processFile: string | null
  groupFolders: readonly string[]
  /** Bind mount in a new mount namespace, so that no mount stays on the machine. */
  mount: { unshare: string; program: string; folder: string; at: string } | null
}

export function firstStage({ processFile, groupFolders, mount }: FirstStage, next: readonly string[]): string[] {
  const argv = ['/bin/sh', '-c', script, 'launch', processFile ?? '-', ...groupFolders, '--']
  if (!mount) return [...argv, ...next]
  return [mount.unshare, '--mount', '--', ...argv, 'mount', mount.program, mount.folder, mount.at, ...next]
}
