import { statfs } from 'node:fs/promises'

/** Free space on a disk. */
export interface FreeSpace {
  bytes: number
  /** Free inodes. 0 where the file system has no fixed number of them. */
  inodes: number
}

export async function freeSpaceAt(folder: string): Promise<FreeSpace> {
  const { bavail, bsize, ffree } = await statfs(folder)
  return { bytes: bavail * bsize, inodes: ffree }
}
