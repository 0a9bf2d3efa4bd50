import { type contract, type EventsOf, type ExecBody, type ExecExit, limits } from '@berth/contract'
import { StartFailed } from '../../../drivers/runtime/runtime-errors.ts'
import type { EventStream } from '../../../http/handler.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import type { DeploymentsDeps } from '../deps.ts'
import type { ExecTarget } from './find-instance.ts'
import type { OpenExec } from './open-execs.ts'

export type ExecStream = EventStream<EventsOf<typeof contract.deployments.exec>>

/** Maximum output bytes per event: a slow reader is detected by its unread bytes. */
const maxChunkBytes = 48 * 1024

/**
 * Runs the program and streams its output. It is stopped on client disconnect, time limit, output limit, or when its instance
 * stops.
 */
export async function runExec(
  exec: OpenExec,
  { row, env }: ExecTarget,
  body: ExecBody,
  stream: ExecStream,
  deps: DeploymentsDeps,
) {
  const { environment, service, deploymentId } = row
  await stream.send('started', { execId: exec.id, environment, service, deploymentId })
  const outputLimit = new AbortController()
  const timeLimit = AbortSignal.timeout(limits.execSeconds * 1000)
  let writtenBytes = 0
  const sendOutput = (name: 'stdout' | 'stderr') => async (chunk: Uint8Array) => {
    writtenBytes += chunk.length
    if (writtenBytes > limits.execOutputBytes) return outputLimit.abort()
    for (let offset = 0; offset < chunk.length; offset += maxChunkBytes)
      await stream.send('output', {
        stream: name,
        data: Buffer.from(chunk.subarray(offset, offset + maxChunkBytes)).toString('base64'),
      })
  }
  const command = {
    argv: body.argv,
    env: { ...env, ...body.env },
    ...(exec.input ? { stdin: exec.input } : {}),
    onStdout: sendOutput('stdout'),
    onStderr: sendOutput('stderr'),
  }
  const exit = await deps.runtimes
    .for(row.serverId)
    .exec(row.id, command, AbortSignal.any([stream.abort, timeLimit, outputLimit.signal]))
    .then(
      ({ exitCode }): ExecExit => ({ exitCode, message: null }),
      (error: unknown) => failureExit(error, { timeLimit, outputLimit: outputLimit.signal }),
    )
  if (!stream.abort.aborted) await stream.send('exit', exit)
}

function failureExit(error: unknown, { timeLimit, outputLimit }: { timeLimit: AbortSignal; outputLimit: AbortSignal }): ExecExit {
  if (timeLimit.aborted)
    return { exitCode: null, message: `The command was stopped: it exceeded the limit of ${limits.execSeconds / 60} minutes` }
  if (outputLimit.aborted)
    return { exitCode: null, message: `The command was stopped: it wrote more than ${limits.execOutputBytes / 1024 ** 3} GB` }
  if (error instanceof StartFailed) return { exitCode: null, message: 'The container stopped' }
  return { exitCode: null, message: `The command was stopped: ${errorMessage(error)}` }
}
