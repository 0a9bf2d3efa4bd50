import { type ExecCommand, StartFailed } from '../../runtime.ts'
import { ask, type Engine, statusOf, wordsOfEngine } from '../engine.ts'
import { containerName } from './container-settings.ts'
import { type Frame, framesOf } from './frames.ts'

const tailBytes = 64 * 1024

/** Runs a program inside a running instance and hands its output out as it comes. */
export async function execIn(
  instanceId: string,
  command: ExecCommand,
  engine: Engine,
  abort: AbortSignal,
): Promise<{ exitCode: number; stderrTail: string }> {
  let tail = ''
  try {
    const exitCode = await runIn(
      containerName(instanceId),
      { ...command },
      async ({ stream, content }) => {
        if (stream === 'stdout') await command.onStdout?.(content)
        else tail = (tail + content.toString('utf8')).slice(-tailBytes)
      },
      engine,
      abort,
    )
    return { exitCode, stderrTail: tail }
  } catch (error) {
    abort.throwIfAborted()
    if (statusOf(error) === 404 || statusOf(error) === 409)
      throw new StartFailed(`The instance ${instanceId} does not run: ${wordsOfEngine(error)}`)
    throw error
  }
}

export interface Run extends Pick<ExecCommand, 'argv' | 'env' | 'user' | 'stdin'> {
  folder?: string
}

/** The variables go with this call alone: they are in no setting of the container, so in none of an image made from it. */
export async function runIn(
  container: string,
  { argv, env, user, stdin, folder }: Run,
  onFrame: (frame: Frame) => void | Promise<void>,
  engine: Engine,
  abort: AbortSignal,
): Promise<number> {
  const exec = await ask(
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
  const onAbort = () => stream.destroy(new Error('aborted'))
  abort.addEventListener('abort', onAbort, { once: true })
  try {
    const fed = stdin ? feed(stdin, stream) : undefined
    for await (const frame of framesOf(stream)) await onFrame(frame)
    await fed
  } finally {
    abort.removeEventListener('abort', onAbort)
    stream.destroy()
  }
  abort.throwIfAborted()
  const { ExitCode } = await ask((abortSignal) => exec.inspect({ abortSignal }), { abort })
  return ExitCode ?? -1
}

/** A program that ends before it has read everything is no failure of ours: its exit code tells. */
async function feed(stdin: AsyncIterable<Uint8Array>, stream: NodeJS.WritableStream): Promise<void> {
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
