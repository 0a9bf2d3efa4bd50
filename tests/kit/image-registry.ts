import { execFile } from 'node:child_process'
import { createPrivateKey, sign, X509Certificate } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { request as ask, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startDaemon } from './daemon.ts'
import { freePorts } from './free-port.ts'
import { serve } from './http-server.ts'
import { tempFolder } from './temp-folder.ts'

/** A real image registry on loopback that issues tokens, as the large ones do. Repositories below `public/` need no login. */
export interface TestImageRegistry extends AsyncDisposable {
  /** Registry host, as in image names. */
  readonly host: string
  readonly username: string
  readonly password: string
  /** Method and path of each request, including those for tokens. */
  readonly requests: string[]
  /** `Authorization` headers of the requests for tokens. */
  readonly tokenAuthorizations: (string | undefined)[]
}

const login = { username: 'ann', password: 'canary-of-the-registry-4711' }
const names = { service: 'registry.test', issuer: 'berth-test' }

export async function startImageRegistry(program: string): Promise<TestImageRegistry> {
  const folder = await tempFolder('registry')
  const [port] = await freePorts(1)
  const certificate = join(folder.path, 'token.pem')
  const key = join(folder.path, 'token.key')
  const subject = ['-subj', '/CN=berth-test', '-days', '2']
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate],
    ...subject,
  ])
  const tokens = tokenMaker(await readFile(key, 'utf8'), await readFile(certificate, 'utf8'))
  const requests: string[] = []
  const tokenAuthorizations: (string | undefined)[] = []
  const front = await serve((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    if (!request.url?.startsWith('/token')) return pass(request, response, port as number)
    tokenAuthorizations.push(request.headers.authorization)
    answerToken(request, response, tokens)
  })
  const host = front.url.replace('http://', '')
  const config = join(folder.path, 'config.json')
  const token = { realm: `${front.url}/token`, ...names, rootcertbundle: certificate }
  await writeFile(
    config,
    JSON.stringify({
      version: 0.1,
      log: { level: 'error' },
      storage: { filesystem: { rootdirectory: join(folder.path, 'data') } },
      http: { addr: `127.0.0.1:${port}`, host: front.url },
      auth: { token },
    }),
  )
  const registry = await startDaemon({ program, args: ['serve', config], ready: { port: port as number } })
  return {
    host,
    ...login,
    requests,
    tokenAuthorizations,
    async [Symbol.asyncDispose]() {
      await front.close()
      await registry.stop()
      await folder[Symbol.asyncDispose]()
    },
  }
}

function pass(request: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers } = request
  const onward = ask({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  onward.on('error', () => response.destroy())
  request.pipe(onward)
}

/** A client with the password gets the requested access; a client without one gets a token for public repositories only. */
function answerToken(request: IncomingMessage, response: ServerResponse, makeToken: (access: object[]) => string): void {
  const { authorization } = request.headers
  const isKnown = authorization === `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`
  if (authorization !== undefined && !isKnown) return void response.writeHead(401).end('{}')
  const scopes = new URL(request.url ?? '', 'http://x').searchParams.getAll('scope')
  const access = scopes.flatMap((scope) => {
    const [type, name = '', actions = ''] = scope.split(':')
    const granted = actions.split(',').filter((action) => isKnown || (action === 'pull' && name.startsWith('public/')))
    return granted.length > 0 ? [{ type, name, actions: granted }] : []
  })
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ token: makeToken(access) }))
}

function tokenMaker(key: string, certificate: string) {
  const chain = [new X509Certificate(certificate).raw.toString('base64')]
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return (access: object[]): string => {
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: names.issuer, sub: login.username, aud: names.service, access, jti: String(now) }
    const text = `${part({ typ: 'JWT', alg: 'RS256', x5c: chain })}.${part({ ...claims, iat: now - 60, nbf: now - 60, exp: now + 600 })}`
    return `${text}.${sign('sha256', Buffer.from(text), createPrivateKey(key)).toString('base64url')}`
  }
}
