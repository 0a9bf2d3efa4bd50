import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cgroupRoot } from '../../cgroup-files.ts'

/**
 * Lets a container run only where nothing else wants to, and tells the scheduler that a core it uses is as good as free: shares
 * alone do not. The engine has no word for it, so it is written into the container's control group, where that is on this machine
 * and ours to write; elsewhere the shares must do.
 */
export function makeIdle(containerId: string, pid: number): void {
  try {
    const line = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n').find(isOfCpu)
    const [, controllers, path] = line?.split(':') ?? []
    // The number may be that of another process here, if the engine counts its own.
    if (!path?.includes(containerId)) return
    writeFileSync(join(cgroupRoot, controllers ?? '', path, 'cpu.idle'), '1')
  } catch {
    // Not ours to write.
  }
}

/** `0::/path` of the one hierarchy, or `4:cpu,cpuacct:/path` of the separate ones. */
const isOfCpu = (line: string): boolean => /^0::|^\d+:([^:]*,)?cpu(,[^:]*)?:/.test(line)
