import { CommandFailed, ProgramMissing } from '../../../shell/command-errors.ts'
import { commandOutput } from '../../../shell/command-output.ts'
import { createRunCommand } from '../../../shell/run-command.ts'
import { readTar, type TarEntry } from '../../../tar/read-tar.ts'
import { VolumeUnreadable } from '../../runtime-errors.ts'

export interface VolumeReadOptions {
  /** Environment of Berth itself, whose PATH has the programs. */
  environment: Readonly<Record<string, string | undefined>>
  abort: AbortSignal
}

const timeoutMs = 12 * 3_600_000
/** Fewer bytes of holes are read faster than tar is started. */
const minHoleBytes = 64 * 1024 * 1024

/** Whether much of the file is holes, by its number of allocated blocks. */
export const isSparse = ({ size, blocks }: { size: number; blocks: number }) => size - blocks * 512 > minHoleBytes

/**
 * Reads an open file with holes as a sparse tar entry. Only the file system knows where the holes are, and Node has no call
 * for it, so GNU tar reads the file.
 */
export async function* sparseEntry(fd: number, { environment, abort }: VolumeReadOptions): AsyncGenerator<TarEntry> {
  const args = [
    '--create',
    '--file=-',
    '--format=posix',
    '--sparse',
    '--hole-detection=seek',
    '--dereference',
    '--absolute-names',
  ]
  const output = commandOutput(
    createRunCommand(environment),
    { program: 'tar', args: [...args, '--', `/proc/${process.pid}/fd/${fd}`] },
    {
      abort,
      timeoutMs,
      highWaterMark: 256 * 1024,
      maxOutputBytes: 4_096,
      // 1: the file changed while it was read.
      acceptExitCodes: [0, 1],
    },
  )
  try {
    yield* readTar(output)
  } catch (error) {
    throw asUnreadable(error)
  } finally {
    await output.return(undefined)
  }
}

const asUnreadable = (error: unknown): unknown =>
  error instanceof ProgramMissing || error instanceof CommandFailed
    ? new VolumeUnreadable(
        `A file with large holes is read by GNU tar, which did not work here (${error.message}): install it, or leave the file out of the backup`,
        { cause: error },
      )
    : error
