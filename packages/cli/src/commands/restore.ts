import type { Command } from 'commander'
import { CliError } from '../exit-codes.ts'
import { output } from '../output.ts'
import { bytesProgress } from '../progress.ts'
import { byteSize } from '../quantities.ts'

interface Options {
  file: string
  key: string
  to: string
}

export function addRestore(program: Command): void {
  program
    .command('restore')
    .description('restore a backup with its key, without an instance')
    .requiredOption('--file <archive>', "a run's manifest.json.zst.age, or one archive such as data.0000.tar.zst.age")
    .requiredOption('--key <file>', 'the key of the instance that made it (backup.key in its data folder)')
    .requiredOption('--to <folder>', 'a new or empty folder to restore into')
    .action(async ({ file, key, to }: Options, command: Command) => {
      const print = output(command)
      const { restoreFile } = await import('@berth/server/restore-file')
      const progress = bytesProgress('restoring', command.optsWithGlobals().json === true)
      const stop = new AbortController()
      const onSignal = () => stop.abort(new CliError('Stopped. The files restored so far are in the folder.'))
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal)
      try {
        const result = await restoreFile({ file, keyFile: key, to, onProgress: progress.show, abort: stop.signal })
        progress.end('restored')
        const excluded = result.leftOut > 0 ? `; ${result.leftOut} devices or pipes skipped` : ''
        print.result(
          result,
          () => `${result.files} ${result.files === 1 ? 'file' : 'files'}, ${byteSize(result.bytes)}, in ${to}${excluded}`,
        )
      } catch (error) {
        progress.end('not restored')
        throw asCliError(error)
      } finally {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal)
      }
    })
}

/** Reports only the error's message: a stack trace does not help a user who has lost a machine. */
function asCliError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof CliError) return error
  return new CliError(error.name === 'InvalidAgeFile' ? `This file ${error.message}` : error.message)
}
