import { accessSync, constants } from 'node:fs'

/** Folders that only the machine's administrator writes to. What has rights is never looked for anywhere else. */
const folders = ['/usr/bin', '/usr/local/bin', '/bin', '/usr/sbin', '/sbin']

/** The whole path of a program of the machine; null where it has none of that name. */
export function systemProgram(name: string): string | null {
  for (const folder of folders) {
    const path = `${folder}/${name}`
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // The next one.
    }
  }
  return null
}

/** All that a process of ours with rights finds in its environment. */
export const fixedEnvironment = Object.freeze({ PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' })
