import { isBelow } from '../../mount-path.ts'
import { StartFailed } from '../../runtime-errors.ts'

/** Refuses a mount path that would hide files that the sandbox or the app itself needs. */
export function refuseReserved(mountPath: string, reserved: readonly string[]): void {
  const conflict = reserved.find((path) => mountPath === '/' || isBelow([path], mountPath) || isBelow([mountPath], path))
  if (conflict !== undefined)
    throw new StartFailed(
      `A volume cannot be mounted at ${mountPath}: ${conflict} is used by Berth. Set another mountPath, such as /data.`,
    )
}
