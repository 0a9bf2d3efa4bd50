import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunCommand } from '../shell/command.ts'

/** Test support: `git http-backend` behind CGI on loopback, with a password and injectable failures. */
export interface GitServer {
  url: string
  requests: { url: string; authorization: string | undefined }[]
  /** Required before the repository is served; null: no password. */
  password: string | null
  /** Handles the request instead of git when it returns true. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | null
  delayMs: number
  close(): Promise<void>
}

export async function startGitServer(
  run: RunCommand,
  repositories: string,
  env: Record<string, string> = {},
): Promise<GitServer> {
  const http: Server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      response.statusCode = 500
      response.end(String(error))
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const server: GitServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests: [],
    password: null,
    intercept: null,
    delayMs: 0,
    close: async () => {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization } = request.headers
    server.requests.push({ url: request.url ?? '', authorization })
    if (server.intercept?.(request, response)) return
    if (server.delayMs > 0) await delay(server.delayMs)
    const password = Buffer.from(authorization?.replace(/^Basic /, '') ?? '', 'base64')
      .toString()
      .split(':')[1]
    if (server.password !== null && password !== server.password) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end('no')
      return
    }
    await runBackend(run, repositories, { request, response, env })
  }

  return server
}

async function runBackend(
  run: RunCommand,
  repositories: string,
  { request, response, env }: { request: IncomingMessage; response: ServerResponse; env: Record<string, string> },
): Promise<void> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://host')
  let head: Buffer | null = Buffer.alloc(0)
  const onStdout = (chunk: Uint8Array) => {
    if (head === null) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    writeHead(response, head.subarray(0, end).toString())
    response.write(head.subarray(end + 4))
    head = null
  }
  await run(
    {
      program: 'git',
      args: ['http-backend'],
      env: {
        GIT_PROJECT_ROOT: join(repositories),
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        REQUEST_METHOD: request.method ?? 'GET',
        PATH_INFO: decodeURIComponent(pathname),
        QUERY_STRING: search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REMOTE_ADDR: '127.0.0.1',
        ...env,
      },
    },
    { timeoutMs: 60_000, maxOutputBytes: 0, input: request, onStdout, acceptExitCodes: 'any' },
  )
  response.end()
}

function writeHead(response: ServerResponse, head: string): void {
  for (const line of head.split('\r\n')) {
    const [name = '', ...value] = line.split(': ')
    if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value.join(': '), 10)
    else response.setHeader(name, value.join(': '))
  }
}
