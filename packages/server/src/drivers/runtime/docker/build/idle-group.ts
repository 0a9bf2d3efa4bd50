import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cgroupRoot } from '../../cgroup-files.ts'

/**
 * Sets `cpu.idle` on a container: the container runs only when no other process needs the CPU, and the scheduler treats a CPU
 * that it uses as free. CPU shares alone do not achieve that. The engine has no such setting, so it is written to the
 * container's control group, if that is on this machine and writable.
 */
export function setCpuIdle(containerId: string, pid: number): void {
  try {
    const line = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n').find(isCpuLine)
    const [, controllers, path] = line?.split(':') ?? []
    // If the engine is in another pid namespace, the pid may be another process here.
    if (!path?.includes(containerId)) return
    writeFileSync(join(cgroupRoot, controllers ?? '', path, 'cpu.idle'), '1')
  } catch {
    // Not permitted, not supported by the kernel, or the container has ended: it keeps its CPU shares.
  }
}

/** Whether a line of `/proc/<pid>/cgroup` is about the CPU: `0::/path` under cgroup v2, `4:cpu,cpuacct:/path` under v1. */
const isCpuLine = (line: string): boolean => /^0::|^\d+:([^:]*,)?cpu(,[^:]*)?:/.test(line)
