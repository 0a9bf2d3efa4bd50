import { accessSync, constants } from 'node:fs'

/** Folders that only root can write to. Privileged programs are searched nowhere else. */
const folders = ['/usr/bin', '/usr/local/bin', '/bin', '/usr/sbin', '/sbin']

/** Absolute path of a program of the machine. Null if it does not exist. */
export function systemProgram(name: string): string | null {
  for (const folder of folders) {
    const path = `${folder}/${name}`
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Tries the next folder.
    }
  }
  return null
}

/** The whole environment of a privileged process of Berth. */
export const fixedEnvironment = Object.freeze({ PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' })
