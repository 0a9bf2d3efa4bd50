import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { type HttpServer, serve } from '../../../../../tests/kit/http-server.ts'
import { Secret } from '../../platform/secrets/secret.ts'
import { createWebRequest } from '../web-request/web-request.ts'
import { createImageRegistry, type ImageRegistrySettings } from './image-registry.ts'
import { mayGetPassword, parseChallenge } from './registry-challenge.ts'

const neverAborted = new AbortController().signal
const digest = `sha256:${'a'.repeat(64)}`
const password = 'canary-password-4711'
const basic = `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A registry with the responses that a test sets, and the requests that it received. */
async function hostile(answer: Answer) {
  const requested: { line: string; authorization: string | undefined }[] = []
  const server: HttpServer = await serve((request, response) => {
    requested.push({ line: `${request.method} ${request.url}`, authorization: request.headers.authorization })
    answer(request, response)
  })
  const host = server.url.replace('http://', '')
  return { ...server, asked: requested, host, [Symbol.asyncDispose]: () => server.close() }
}

const send = (host: string, settings: Partial<ImageRegistrySettings> = {}, image = `${host}/team/app:1`) =>
  createImageRegistry({
    web: createWebRequest({ allowPrivate: true }),
    registries: null,
    imageMirror: null,
    timeoutMs: 2_000,
    ...settings,
  }).digestOf(image, [{ host, username: 'ann', password: new Secret(password) }], neverAborted)

const failureOf = (request: Promise<string>) =>
  request.then(
    () => null,
    (error: Error & { reason?: string }) => error,
  )

const challenge = (realm: string) => ({
  'www-authenticate': `Bearer realm="${realm}",service="s",scope="repository:team/app:pull,push"`,
})

describe('the password of a registry', () => {
  test('is not sent to another host that the registry names for tokens', async () => {
    await using thief = await hostile((_, response) => response.end(JSON.stringify({ token: 't' })))
    await using registry = await hostile((_, response) => response.writeHead(401, challenge(`${thief.url}/token`)).end())
    const failure = await failureOf(send(registry.host))
    expect(failure).toMatchObject({ name: 'RegistryFailure' })
    expect(thief.asked).toEqual([])
    expect(String(failure)).not.toContain(password)
  })

  test('and a token are not sent to a host that the registry redirects to', async () => {
    await using thief = await hostile((_, response) => response.writeHead(200, { 'docker-content-digest': digest }).end())
    await using registry = await hostile(({ headers }, response) =>
      headers.authorization
        ? response.writeHead(307, { location: `${thief.url}/v2/x` }).end()
        : response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end(),
    )
    expect(await failureOf(send(registry.host))).toMatchObject({ reason: 'invalid' })
    expect(thief.asked).toEqual([])
  })

  test('is sent only on request, and the token is limited to reading this image', async () => {
    await using registry = await hostile(({ url, headers }, response) => {
      if (url?.startsWith('/token')) return void response.end(JSON.stringify({ token: 'abc' }))
      if (headers.authorization === 'Bearer abc') return void response.writeHead(200, { 'docker-content-digest': digest }).end()
      response.writeHead(401, challenge(`http://${headers.host}/token`)).end()
    })
    expect(await send(registry.host)).toBe(digest)
    expect(registry.asked).toEqual([
      { line: 'HEAD /v2/team/app/manifests/1', authorization: undefined },
      { line: 'GET /token?service=s&scope=repository%3Ateam%2Fapp%3Apull', authorization: basic },
      { line: 'HEAD /v2/team/app/manifests/1', authorization: 'Bearer abc' },
    ])
  })

  test.each([
    ['https://registry-1.docker.io', 'https://auth.docker.io/token', true],
    ['https://ghcr.io', 'https://ghcr.io/token', true],
    ['https://registry.example.com', 'https://gitlab.example.com/jwt/auth', true],
    ['https://registry.gitlab.com', 'https://gitlab.com/jwt/auth', true],
    ['https://registry.example.com', 'http://gitlab.example.com/jwt/auth', false],
    ['https://registry.example.com', 'https://gitlab.example.com:8443/jwt/auth', false],
    ['https://registry.example.com', 'https://evil.test/token', false],
    ['https://registry.example.com', 'https://evilexample.com/token', false],
    ['https://example.com', 'https://evil.com/token', false],
    ['https://ghcr.io', 'https://auth.docker.io/token', false],
    ['https://10.0.0.5', 'https://10.0.0.6/token', false],
    ['http://localhost:5000', 'http://localhost:5001/token', false],
  ])('of %s, for a token from %s: %s', (registry, realm, may) =>
    expect(mayGetPassword(new URL(realm), new URL(registry))).toBe(may),
  )
})

describe('an invalid registry', () => {
  test.each<[string, Answer, string]>([
    ['redirects without end', (_, response) => response.writeHead(302, { location: '/v2/again' }).end(), 'invalid'],
    [
      'names a digest that is none',
      (_, response) => response.writeHead(200, { 'docker-content-digest': 'sha256:x y' }).end(),
      'invalid',
    ],
    ['hangs', () => undefined, 'unreachable'],
    ['closes the connection', (request) => request.socket.destroy(), 'unreachable'],
    ['is overloaded', (_, response) => response.writeHead(503).end(), 'unreachable'],
    ['refuses everyone', (_, response) => response.writeHead(403).end(), 'denied'],
    ['does not have it', (_, response) => response.writeHead(404).end(), 'not_found'],
    [
      'asks for a login of no kind',
      (_, response) => response.writeHead(401, { 'www-authenticate': 'Negotiate' }).end(),
      'denied',
    ],
    ['names no realm', (_, response) => response.writeHead(401, { 'www-authenticate': 'Bearer x="y"' }).end(), 'denied'],
    [
      'sends a manifest without end',
      ({ method }, response) => (method === 'HEAD' ? response.end() : endless(response)),
      'invalid',
    ],
    [
      'sends a token without end',
      ({ url, headers }, response) =>
        url?.startsWith('/token') ? endless(response) : response.writeHead(401, challenge(`http://${headers.host}/token`)).end(),
      'invalid',
    ],
    [
      'sends a token that would be a header of its own',
      ({ url, headers }, response) =>
        url?.startsWith('/token')
          ? response.end(JSON.stringify({ token: 'a\r\nx: y' }))
          : response.writeHead(401, challenge(`http://${headers.host}/token`)).end(),
      'invalid',
    ],
  ])('%s', async (_, answer, reason) => {
    await using registry = await hostile(answer)
    const failure = await failureOf(send(registry.host))
    expect(failure).toMatchObject({ name: 'RegistryFailure', reason })
    expect(String(failure)).not.toContain(password)
    expect(registry.asked.length).toBeLessThan(8)
  })

  function endless(response: ServerResponse): void {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, 'x')));
    }
    response.on('drain', more)
    more()
  }
})

test('without a digest header the digest is the hash of the manifest', async () => {
  const manifest = JSON.stringify({ schemaVersion: 2 })
  await using registry = await hostile(({ method }, response) => void response.end(method === 'HEAD' ? '' : manifest))
  expect(await send(registry.host)).toBe(`sha256:${createHash('sha256').update(manifest).digest('hex')}`)
})

describe('no request is sent', () => {
  test('to a registry that is not allowed', async () => {
    await using registry = await hostile((_, response) => response.end())
    expect(await failureOf(send(registry.host, { registries: ['ghcr.io'] }))).toMatchObject({ reason: 'not_allowed' })
    expect(registry.asked).toEqual([])
  })

  test('to private networks on an instance with untrusted users', async () => {
    await using registry = await hostile((_, response) => response.end())
    const web = createWebRequest({ allowPrivate: false })
    expect(await failureOf(send(registry.host, { web }))).toMatchObject({ reason: 'not_allowed' })
    expect(registry.asked).toEqual([])
  })

  test('for an image name with a digest', async () => {
    await using registry = await hostile((_, response) => response.end())
    expect(await send(registry.host, {}, `${registry.host}/team/app@${digest}`)).toBe(digest)
    expect(registry.asked).toEqual([])
  })
})

test.each([
  [undefined, null],
  ['', null],
  ['Basic realm="x"', 'basic'],
  ['Bearer realm="https://a.test/t",service="s"', 'bearer'],
  ['Basic realm="x", Bearer realm="https://a.test/t"', 'bearer'],
  ['Bearer realm="not a url"', null],
])('parses the challenge %s', (header, kind) => expect(parseChallenge(header)?.kind ?? null).toBe(kind))
