import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { tempFolder } from './temp-folder.ts'

export type Lie = (request: IncomingMessage, response: ServerResponse) => unknown

export interface LyingEngine extends AsyncDisposable {
  socket: string
  /** Requested paths, without their queries. */
  asked: string[]
}

const version = { Version: '99.1' }

/** The responses of a regular engine, as far as a server scan reads them. */
export const honest: Record<string, unknown> = {
  '/version': version,
  '/containers/json': [],
  '/volumes': { Volumes: [] },
  '/networks': [],
}

export const says = (value: unknown) => (_: IncomingMessage, response: ServerResponse) => response.end(JSON.stringify(value))

/** Sends data until the client disconnects. */
export const endless: Lie = (_, response) => {
  const chunk = `[${'1,'.repeat(32_000)}`
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  }
  response.on('drain', more)
  more()
}

/** Sends a byte at a time and never ends. */
export const dripping: Lie = (_, response) => {
  const timer = setInterval(() => response.write(' '), 50)
  response.on('close', () => clearInterval(timer))
}

/**
 * A server's Docker engine that returns what a test defines at a path, and regular responses elsewhere, like an engine that an
 * attacker controls.
 */
export async function startLyingEngine(lies: Record<string, Lie>): Promise<LyingEngine> {
  const folder = await tempFolder('engine')
  const socket = join(folder.path, 'docker.sock')
  const requested: string[] = []
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] as string
    requested.push(path)
    const lie = lies[path] ?? lies[path.replace(/[0-9a-f]{64}/, ':id')]
    if (lie) return void lie(request, response)
    if (path in honest) return void says(honest[path])(request, response)
    response.writeHead(404).end('{}')
  })
  await new Promise<void>((done) => server.listen(socket, done))
  return {
    socket,
    asked: requested,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
      await folder.remove()
    },
  }
}
