import { statfs } from 'node:fs/promises'

/** Free space on a disk. */
export interface Room {
  bytes: number
  /** Free inodes. 0 where the file system has no fixed number of them. */
  names: number
}

export async function roomAt(folder: string): Promise<Room> {
  const { bavail, bsize, ffree } = await statfs(folder)
  return { bytes: bavail * bsize, names: ffree }
}
