import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { tempFolder } from './temp-folder.ts'

const run = promisify(execFile)

export interface GitServerOptions {
  /** Users who may read and write, by Basic password or as the password of any user name (a token). Without it every client may. */
  credentials?: Record<string, string>
}

export interface GitRequest {
  method: string
  path: string
  user: string | null
  status: number
}

export interface GitServer extends AsyncDisposable {
  readonly url: string
  /** Every request so far, including rejected ones. */
  readonly requests: GitRequest[]
  /** Creates an empty bare repository, `owner/name`; returns its clone URL. */
  createRepository(name: string): Promise<string>
  cloneUrl(name: string): string
  folderOf(name: string): string
  /** Commits to the branch and returns the commit's SHA; a file of `null` is removed. */
  commit(name: string, files: Record<string, string | Uint8Array | null>, options?: CommitOptions): Promise<string>
  close(): Promise<void>
}

export interface CommitOptions {
  branch?: string
  message?: string
  /** Paths that get the executable bit. */
  executable?: readonly string[]
}

/** Git's own smart HTTP server on loopback: `git http-backend` behind a CGI server, with real bare repositories. */
export async function startGitServer({ credentials }: GitServerOptions = {}): Promise<GitServer> {
  const folder = await tempFolder('git')
  const requests: GitRequest[] = []
  const server = createServer((request, response) => {
    const user = allowedUser(request, credentials)
    response.once('finish', () => {
      requests.push({ method: request.method!, path: request.url!, user: user ?? null, status: response.statusCode })
    })
    if (user === undefined) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    serveByBackend(request, response, { root: folder.path, user })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const folderOf = (name: string) => join(folder.path, `${name}.git`)
  const cloneUrl = (name: string) => `${url}/${name}.git`
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await folder.remove()
  }
  return {
    url,
    requests,
    folderOf,
    cloneUrl,
    async createRepository(name) {
      await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', '--', folderOf(name)])
      await run('git', ['-C', folderOf(name), 'config', 'http.receivepack', 'true'])
      return cloneUrl(name)
    },
    commit: (name, files, options) => fastImport(folderOf(name), files, options),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The user's name, '' without credentials; undefined: rejected. */
function allowedUser(request: IncomingMessage, credentials: GitServerOptions['credentials']): string | undefined {
  if (!credentials) return ''
  const [scheme, encoded] = (request.headers.authorization ?? '').split(' ')
  if (scheme?.toLowerCase() !== 'basic' || !encoded) return undefined
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  const [name, password] = [text.slice(0, colon), text.slice(colon + 1)]
  if (credentials[name] === password) return name
  return Object.keys(credentials).find((owner) => credentials[owner] === password)
}

function serveByBackend(request: IncomingMessage, response: ServerResponse, { root, user }: { root: string; user: string }) {
  const { pathname, search } = new URL(request.url!, 'http://git')
  const backend = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      HOME: root,
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      CONTENT_LENGTH: request.headers['content-length'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: user,
      REMOTE_ADDR: '127.0.0.1',
    },
  })
  // A client that gives up early closes the pipe: not an error of the server.
  request.pipe(backend.stdin).on('error', () => {})
  response.once('close', () => backend.kill())
  relayCgi(backend.stdout, response)
}

/** CGI: header lines, an empty line, then the body as it arrives. */
function relayCgi(output: NodeJS.ReadableStream, response: ServerResponse) {
  let head = Buffer.alloc(0)
  const onHead = (piece: Buffer) => {
    head = Buffer.concat([head, piece])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    output.off('data', onHead)
    let status = 200
    for (const line of head.subarray(0, end).toString().split('\r\n')) {
      const [name, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]
      if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    response.writeHead(status)
    response.write(head.subarray(end + 4))
    output.pipe(response)
  }
  output.on('data', onHead)
  output.on('end', () => {
    if (!response.headersSent) response.writeHead(500).end('git http-backend gave no answer')
  })
}

/** Streams a commit into `git fast-import`, without a work tree. */
async function fastImport(repository: string, files: Record<string, string | Uint8Array | null>, options: CommitOptions = {}) {
  const { branch = 'main', message = 'change', executable = [] } = options
  const ref = `refs/heads/${branch}`
  const parent = await run('git', ['-C', repository, 'rev-parse', '--verify', '--quiet', ref]).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
  const data = (bytes: string | Uint8Array) => [
    Buffer.from(`data ${Buffer.byteLength(bytes)}\n`),
    Buffer.from(bytes),
    Buffer.from('\n'),
  ]
  const pieces = [
    Buffer.from(`commit ${ref}\ncommitter Test <test@example.test> ${Math.floor(Date.now() / 1000)} +0000\n`),
    ...data(message),
    ...(parent ? [Buffer.from(`from ${parent}\n`)] : []),
  ]
  for (const [path, content] of Object.entries(files)) {
    if (content === null) pieces.push(Buffer.from(`D ${JSON.stringify(path)}\n`))
    else
      pieces.push(
        Buffer.from(`M ${executable.includes(path) ? 100755 : 100644} inline ${JSON.stringify(path)}\n`),
        ...data(content),
      )
  }
  const importer = spawn('git', ['-C', repository, 'fast-import', '--quiet'], { stdio: ['pipe', 'ignore', 'inherit'] })
  importer.stdin.end(Buffer.concat(pieces))
  const [code] = await once(importer, 'exit')
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`)
  return (await run('git', ['-C', repository, 'rev-parse', ref])).stdout.trim()
}
