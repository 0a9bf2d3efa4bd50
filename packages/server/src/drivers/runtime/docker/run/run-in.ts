import { untilAborted } from '../../../shell/until-aborted.ts'
import type { ExecCommand } from '../../runtime.ts'
import { callEngine, type Engine } from '../engine.ts'
import { type Frame, framesOf } from './frames.ts'

export interface ContainerCommand extends Pick<ExecCommand, 'argv' | 'env' | 'user' | 'stdin'> {
  folder?: string
}

/** Runs a command in a container. Its variables are not part of the container's settings, nor of an image made from it. */
export async function runInContainer(
  container: string,
  { argv, env, user, stdin, folder }: ContainerCommand,
  onFrame: (frame: Frame) => void | Promise<void>,
  engine: Engine,
  abort: AbortSignal,
): Promise<number> {
  const exec = await callEngine(
    (abortSignal) =>
      engine.getContainer(container).exec({
        Cmd: argv,
        Env: Object.entries(env ?? {}).map(([key, value]) => `${key}=${value}`),
        AttachStdin: stdin !== undefined,
        AttachStdout: true,
        AttachStderr: true,
        ...(user ? { User: user } : {}),
        ...(folder ? { WorkingDir: folder } : {}),
        abortSignal,
      }),
    { abort },
  )
  const stream = await exec.start({ hijack: true, stdin: stdin !== undefined, abortSignal: abort })
  // Aborted when the program has ended, so that the input source is not waited for.
  const programEnded = new AbortController()
  const onAbort = () => stream.destroy(new Error('aborted'))
  abort.addEventListener('abort', onAbort, { once: true })
  try {
    const writing =
      stdin &&
      writeStdin(untilAborted(stdin, programEnded.signal), stream).catch((error: unknown) => {
        if (error !== programEnded.signal.reason) stream.destroy(error as Error)
      })
    for await (const frame of framesOf(stream)) await onFrame(frame)
    programEnded.abort()
    await writing
  } finally {
    programEnded.abort()
    abort.removeEventListener('abort', onAbort)
    stream.destroy()
  }
  abort.throwIfAborted()
  const { ExitCode } = await callEngine((abortSignal) => exec.inspect({ abortSignal }), { abort })
  return ExitCode ?? -1
}

/** Ignores write errors: a program may exit before it has read all input. Its exit code is the result. */
async function writeStdin(stdin: AsyncIterable<Uint8Array>, stream: NodeJS.WritableStream): Promise<void> {
  let isBroken = false
  stream.on('error', () => {
    isBroken = true
  })
  for await (const chunk of stdin) {
    if (isBroken) return
    if (!stream.write(chunk)) await new Promise<void>((resolve) => stream.once('drain', resolve).once('close', () => resolve()))
  }
  stream.end()
}
