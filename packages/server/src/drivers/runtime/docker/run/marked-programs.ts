import { open } from 'node:fs/promises'

/** Variable in the environment of a command run inside an instance, by which it and its child processes are found. */
export const markerVariable = 'BERTH_EXEC'

/** Kernel's limit of arguments and environment. */
const maxBytes = 2 * 1024 * 1024

/** Environment of a process on this machine. A process can point it to any part of its memory, so the size is limited. */
export async function environmentOf(pid: number | string): Promise<string[]> {
  await using file = await open(`/proc/${pid}/environ`)
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(maxBytes), 0, maxBytes, 0)
  return buffer.toString('latin1', 0, bytesRead).split('\0')
}
