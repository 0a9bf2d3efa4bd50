import { chmodSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Whether every user of the machine can pass through a folder and its parents. */
export function isOpenToAll(folder: string): boolean {
  for (let path = folder; ; path = dirname(path)) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode
    if (mode === undefined || (mode & 0o001) === 0) return false
    if (path === dirname(path)) return true
  }
}

/**
 * Lets users pass through the data folder to their own folders, where mounting is impossible. They cannot list it, and all
 * other entries stay closed to them, including future ones.
 */
export function allowTraversal(dataDir: string, folder: string): void {
  chmodSync(folder, 0o711)
  if (folder === dataDir) return
  process.umask(0o077)
  for (const name of readdirSync(dataDir)) {
    const path = join(dataDir, name)
    const stat = lstatSync(path)
    if (path !== folder && !stat.isSymbolicLink()) chmodSync(path, stat.mode & 0o7700)
  }
  chmodSync(dataDir, 0o711)
}
