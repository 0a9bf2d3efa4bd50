import { Agent, type ClientRequest } from 'node:http'
import type { Duplex } from 'node:stream'
import { inspect } from 'node:util'
import type { ServerLink } from '../../shell/ssh/server-link.ts'

const openTimeoutMs = 30_000
/** Limit of a response that the Docker client buffers whole. */
const maxResponseBytes = 4 * 1024 * 1024
const maxErrorBytes = 64 * 1024
/** Endpoints whose responses the caller reads as a stream. */
const streamingPath = /^(\/v[\d.]+)?\/(events|build|images\/create)(\?|$)|\/(logs|archive|attach|export|start)(\?|$)/

/** HTTP agent for a server's engine. Every request opens its own channel; the link limits their number. */
export function linkAgent(link: Pick<ServerLink, 'toDocker'>): Agent {
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })
  const open = (_options: unknown, callback: (error: Error | null, stream?: Duplex) => void) => {
    link.toDocker(AbortSignal.timeout(openTimeoutMs)).then(
      (stream) => callback(null, stream),
      (error: Error) => callback(error),
    )
    return undefined
  }
  const { addRequest } = agent as unknown as { addRequest(request: ClientRequest, ...rest: unknown[]): void }
  return Object.assign(agent, {
    createConnection: open as never,
    addRequest(request: ClientRequest, ...rest: unknown[]) {
      limitResponse(request)
      addRequest.call(agent, request, ...rest)
    },
    // The Docker client formats its agent, with everything reachable from it, for debug output that is never shown.
    [inspect.custom]: () => 'a server',
  })
}

/** Limits the size of a response. A server may send endless data, and the Docker client would buffer all of it. */
function limitResponse(request: ClientRequest): void {
  request.once('response', (response) => {
    const isError = (response.statusCode ?? 0) >= 400
    if (streamingPath.test(request.path) && !isError) return
    const maxBytes = isError ? maxErrorBytes : maxResponseBytes
    let length = 0
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= maxBytes) return
      const tooLarge = new Error(`the engine's response is larger than ${maxBytes / 1024} KB`)
      // A caller that reads the answer as a stream gets the error there.
      response.destroy(tooLarge)
      request.destroy(tooLarge)
    })
  })
}
