import { readdir, stat } from 'node:fs/promises'
import type { ContainerInfo } from 'dockerode'
import { groupMembers } from '../../cgroup-use.ts'

/** Bytes of deleted files that processes of a container hold open, on its own layer and volumes. */
export async function deletedFileBytes({ Id, Mounts }: ContainerInfo): Promise<number> {
  const pids = groupMembers([`docker/${Id}`, `system.slice/docker-${Id}.scope`])
  const [first] = pids
  if (first === undefined) return 0
  const paths = [`/proc/${first}/root`, ...Mounts.filter(({ Type }) => Type === 'volume').map(({ Source }) => Source)]
  const devices = new Set((await Promise.all(paths.map(deviceOf))).filter((device) => device !== null))
  const files = new Map<string, number>()
  for (const pid of pids)
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const found = await stat(`/proc/${pid}/fd/${fd}`).catch(() => null)
      if (found?.isFile() && found.nlink === 0 && devices.has(found.dev))
        files.set(`${found.dev}:${found.ino}`, found.blocks * 512)
    }
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0)
}

const deviceOf = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ dev }) => dev,
    () => null,
  )
