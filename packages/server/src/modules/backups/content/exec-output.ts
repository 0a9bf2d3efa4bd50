import { PassThrough } from 'node:stream'
import type { ExecCommand, Runtime } from '../../../drivers/runtime/runtime.ts'
import { BackupFailed } from '../failures.ts'

const tailCharacters = 500

/** Streams the output of a program inside an instance; fails at the end when the program failed. */
export async function* outputOf(
  runtime: Runtime,
  instanceId: string,
  command: ExecCommand,
  abort: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const pipe = new PassThrough({ highWaterMark: 256 * 1024 })
  const stop = new AbortController()
  const onStdout = async (chunk: Uint8Array) => {
    if (!pipe.write(Buffer.from(chunk)) && !pipe.destroyed)
      await new Promise<void>((resolve) => pipe.once('drain', resolve).once('close', () => resolve()))
  }
  const execution = runtime.exec(instanceId, { ...command, onStdout }, AbortSignal.any([abort, stop.signal])).then(
    ({ exitCode, stderrTail }) => {
      if (exitCode === 0) pipe.end()
      else pipe.destroy(commandFailed(command, exitCode, stderrTail))
    },
    (error: Error) => void pipe.destroy(error),
  )
  try {
    for await (const chunk of pipe) yield chunk as Uint8Array
  } finally {
    stop.abort()
    pipe.destroy()
    await execution
  }
}

/** Runs the program to its end, discards its output, and fails when it failed. */
export async function runInside(runtime: Runtime, instanceId: string, command: ExecCommand, abort: AbortSignal): Promise<void> {
  const { exitCode, stderrTail } = await runtime.exec(instanceId, command, abort)
  if (exitCode !== 0) throw commandFailed(command, exitCode, stderrTail)
}

/** Returns a short output as text. */
export async function textOf(runtime: Runtime, instanceId: string, command: ExecCommand, abort: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of outputOf(runtime, instanceId, command, abort)) {
    bytes += chunk.length
    if (bytes > 1024 * 1024) throw new BackupFailed('command_failed', `${command.argv[0]} wrote more output than expected`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function commandFailed({ argv }: ExecCommand, exitCode: number, stderrTail: string): BackupFailed {
  const stderr = stderrTail.trim().slice(-tailCharacters)
  const missing =
    exitCode === 126 || exitCode === 127 ? `${argv[0]} is not installed in the image of the service, or is not executable` : null
  return new BackupFailed(
    'command_failed',
    missing ?? `${argv[0]} ended with exit code ${exitCode}${stderr ? `: ${stderr}` : ''}`,
  )
}
