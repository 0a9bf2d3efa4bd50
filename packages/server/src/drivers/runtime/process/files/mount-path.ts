import { posix } from 'node:path'
import { StartFailed } from '../../runtime.ts'
import { isBelow } from '../sandbox/bubblewrap.ts'

/** Normalized mount path: without empty segments and trailing slash. */
export const normalMountPath = (mountPath: string): string => posix.normalize(`/${mountPath}`).replace(/(.)\/+$/, '$1')

/** Refuses a mount path that would hide files that the sandbox or the app itself needs. */
export function refuseReserved(mountPath: string, reserved: readonly string[]): void {
  const conflict = reserved.find((path) => mountPath === '/' || isBelow([path], mountPath) || isBelow([mountPath], path))
  if (conflict !== undefined)
    throw new StartFailed(
      `A volume cannot be mounted at ${mountPath}: ${conflict} is used by Berth. Set another mountPath, such as /data.`,
    )
}
