import { open } from 'node:fs/promises'

/** In the environment of what was run inside, so that it is found again, with all that it started. */
export const markVariable = 'BERTH_EXEC'

/** What the kernel lets a program begin with. */
const mostBytes = 2 * 1024 * 1024

/** The variables of a process on this machine. It may say that they are any part of its memory: no more than this is read. */
export async function variablesOf(pid: number | string): Promise<string[]> {
  await using file = await open(`/proc/${pid}/environ`)
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(mostBytes), 0, mostBytes, 0)
  return buffer.toString('latin1', 0, bytesRead).split('\0')
}
