import { statfs } from 'node:fs/promises'

/** What is left on a disk. */
export interface Room {
  bytes: number
  /** Of new files; 0 where the file system has no bound of its own. */
  names: number
}

export async function roomAt(folder: string): Promise<Room> {
  const { bavail, bsize, ffree } = await statfs(folder)
  return { bytes: bavail * bsize, names: ffree }
}
