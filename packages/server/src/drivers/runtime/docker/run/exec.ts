import { randomUUID } from 'node:crypto'
import type { ExecCommand } from '../../runtime.ts'
import { StartFailed } from '../../runtime-errors.ts'
import { type Engine, engineMessage, statusOf } from '../engine.ts'
import type { Labels } from '../labels.ts'
import { endMarked } from './end-marked.ts'
import { markerVariable } from './marked-programs.ts'
import { markerPrefix } from './orphaned-commands.ts'
import { runInContainer } from './run-in.ts'

const tailBytes = 64 * 1024

/** Runs a command inside a running container and streams its output. An aborted command is ended. */
export async function execIn(
  container: string,
  command: ExecCommand,
  { engine, labels }: { engine: Engine; labels: Labels },
  abort: AbortSignal,
): Promise<{ exitCode: number; stderrTail: string }> {
  let tail = ''
  const marker = `${markerPrefix(labels)}${randomUUID()}`
  try {
    const exitCode = await runInContainer(
      container,
      { ...command, env: { ...command.env, [markerVariable]: marker } },
      async ({ stream, content }) => {
        if (stream === 'stdout') return command.onStdout?.(content)
        tail = (tail + content.toString('utf8')).slice(-tailBytes)
        await command.onStderr?.(content)
      },
      engine,
      abort,
    )
    return { exitCode, stderrTail: tail }
  } catch (error) {
    await endMarked(container, { marker, user: command.user }, engine)
    abort.throwIfAborted()
    if (statusOf(error) === 404 || statusOf(error) === 409)
      throw new StartFailed(`The container ${container} is not running: ${engineMessage(error)}`)
    throw error
  }
}
