import { type contract, type EventsOf, type ExecBody, type ExecExit, limits } from '@berth/contract'
import { StartFailed } from '../../../drivers/runtime/runtime.ts'
import type { EventStream } from '../../../http/handler.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import type { DeploymentsDeps } from '../deps.ts'
import type { DeploymentTarget } from './find-instance.ts'
import type { OpenExec } from './open-execs.ts'

export type ExecStream = EventStream<EventsOf<typeof contract.deployments.exec>>

/** Maximum output bytes per event: a slow reader is detected by its unread bytes. */
const pieceBytes = 48 * 1024

/**
 * Runs the program and streams its output. It is stopped on client disconnect, time limit, output limit, or when its instance
 * stops.
 */
export async function runExec(
  one: OpenExec,
  { row, env }: DeploymentTarget,
  body: ExecBody,
  stream: ExecStream,
  deps: DeploymentsDeps,
) {
  const { environment, service, deploymentId } = row
  await stream.send('started', { execId: one.id, environment, service, deploymentId })
  const tooMuch = new AbortController()
  const clock = AbortSignal.timeout(limits.execSeconds * 1000)
  let written = 0
  const hand = (name: 'stdout' | 'stderr') => async (chunk: Uint8Array) => {
    written += chunk.length
    if (written > limits.execOutputBytes) return tooMuch.abort()
    for (let at = 0; at < chunk.length; at += pieceBytes)
      await stream.send('output', { stream: name, data: Buffer.from(chunk.subarray(at, at + pieceBytes)).toString('base64') })
  }
  const command = {
    argv: body.argv,
    env: { ...env, ...body.env },
    ...(one.input ? { stdin: one.input } : {}),
    onStdout: hand('stdout'),
    onStderr: hand('stderr'),
  }
  const ended = await deps.runtimes
    .for(row.serverId)
    .exec(row.id, command, AbortSignal.any([stream.abort, clock, tooMuch.signal]))
    .then(
      ({ exitCode }): ExecExit => ({ exitCode, message: null }),
      (error: unknown) => failed(error, { clock, tooMuch: tooMuch.signal }),
    )
  if (!stream.abort.aborted) await stream.send('exit', ended)
}

function failed(error: unknown, { clock, tooMuch }: { clock: AbortSignal; tooMuch: AbortSignal }): ExecExit {
  if (clock.aborted)
    return { exitCode: null, message: `The command was stopped: it exceeded the limit of ${limits.execSeconds / 60} minutes` }
  if (tooMuch.aborted)
    return { exitCode: null, message: `The command was stopped: it wrote more than ${limits.execOutputBytes / 1024 ** 3} GB` }
  if (error instanceof StartFailed) return { exitCode: null, message: 'The container stopped' }
  return { exitCode: null, message: `The command was stopped: ${errorMessage(error)}` }
}
