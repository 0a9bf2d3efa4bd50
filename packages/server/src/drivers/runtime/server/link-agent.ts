import { Agent } from 'node:http'
import type { Duplex } from 'node:stream'
import { inspect } from 'node:util'
import type { ServerLink } from '../../shell/ssh/server-link.ts'

const openMs = 30_000

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
  // The client prints what it sends to, all that hangs on it included, for a log that nobody reads.
  return Object.assign(agent, { createConnection: open as never, [inspect.custom]: () => 'a server' })
}
