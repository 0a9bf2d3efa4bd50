import { posix } from 'node:path'

/** Path of the app's own folder inside its container or sandbox. A volume at `/app/data` is the app's `./data`. */
export const appFolder = '/app'

/** Normalized mount path: without empty segments, `.` segments and trailing slash. */
export const normalMountPath = (mountPath: string): string => posix.normalize(`/${mountPath}`).replace(/(.)\/+$/, '$1')

/** Whether the path is one of the folders or lies below one of them. */
export const isBelow = (folders: readonly string[], path: string): boolean =>
  folders.some((folder) => path === folder || path.startsWith(`${folder}/`))
