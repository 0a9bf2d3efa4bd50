import { Agent, type ClientRequest } from 'node:http'
import type { Duplex } from 'node:stream'
import { inspect } from 'node:util'
import type { ServerLink } from '../../shell/ssh/server-link.ts'

const openMs = 30_000
/** Of an answer that is kept whole before it is read. */
const answerBytes = 4 * 1024 * 1024
const errorBytes = 64 * 1024
/** Answers that are read as they come, each piece by who asked. */
const streaming = /^(\/v[\d.]+)?\/(events|build|images\/create)(\?|$)|\/(logs|archive|attach|export|start)(\?|$)/

/** Each request to a server's engine goes over a channel of its own; how many there may be is up to the link. */
export function linkAgent(link: Pick<ServerLink, 'toDocker'>): Agent {
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })
  const open = (_options: unknown, give: (error: Error | null, stream?: Duplex) => void) => {
    link.toDocker(AbortSignal.timeout(openMs)).then(
      (stream) => give(null, stream),
      (error: Error) => give(error),
    )
    return undefined
  }
  const { addRequest } = agent as unknown as { addRequest(request: ClientRequest, ...rest: unknown[]): void }
  return Object.assign(agent, {
    createConnection: open as never,
    addRequest(request: ClientRequest, ...rest: unknown[]) {
      bound(request)
      addRequest.call(agent, request, ...rest)
    },
    // The client prints what it sends to, all that hangs on it included, for a log that nobody reads.
    [inspect.custom]: () => 'a server',
  })
}

/** A server may say anything, also without end: the client would keep all of it. */
function bound(request: ClientRequest): void {
  request.once('response', (response) => {
    const isError = (response.statusCode ?? 0) >= 400
    if (streaming.test(request.path) && !isError) return
    const mostBytes = isError ? errorBytes : answerBytes
    let length = 0
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= mostBytes) return
      const tooLarge = new Error(`the engine's answer is larger than ${mostBytes / 1024} KB`)
      // A caller that reads the answer as a stream gets the error there.
      response.destroy(tooLarge)
      request.destroy(tooLarge)
    })
  })
}
