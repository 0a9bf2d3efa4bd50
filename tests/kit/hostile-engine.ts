import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { tempFolder } from './temp-folder.ts'

export type EngineReply = (request: IncomingMessage, response: ServerResponse) => unknown

export interface HostileEngine extends AsyncDisposable {
  socket: string
  /** Requested paths, without their queries. */
  requested: string[]
}

const version = { Version: '99.1' }

/** Responses of a regular engine to the requests of a server scan. */
export const regularReplies: Record<string, unknown> = {
  '/version': version,
  '/containers/json': [],
  '/volumes': { Volumes: [] },
  '/networks': [],
}

export const jsonReply = (value: unknown) => (_: IncomingMessage, response: ServerResponse) => response.end(JSON.stringify(value))

/** Sends data until the client disconnects. */
export const endlessReply: EngineReply = (_, response) => {
  const chunk = `[${'1,'.repeat(32_000)}`
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  }
  response.on('drain', more)
  more()
}

/** Sends a byte at a time and never ends. */
export const slowReply: EngineReply = (_, response) => {
  const timer = setInterval(() => response.write(' '), 50)
  response.on('close', () => clearInterval(timer))
}

/**
 * Starts a Docker engine like one that an attacker controls: it sends the test's replies at the given paths, and regular responses at
 * all others.
 */
export async function startHostileEngine(replies: Record<string, EngineReply>): Promise<HostileEngine> {
  const folder = await tempFolder('engine')
  const socket = join(folder.path, 'docker.sock')
  const requested: string[] = []
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] as string
    requested.push(path)
    const reply = replies[path] ?? replies[path.replace(/[0-9a-f]{64}/, ':id')]
    if (reply) return void reply(request, response)
    if (path in regularReplies) return void jsonReply(regularReplies[path])(request, response)
    response.writeHead(404).end('{}')
  })
  await new Promise<void>((done) => server.listen(socket, done))
  return {
    socket,
    requested,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
      await folder.remove()
    },
  }
}
