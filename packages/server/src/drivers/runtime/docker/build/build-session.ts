import { randomUUID } from 'node:crypto'
import { type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { ask, type Engine } from '../engine.ts'

/** What BuildKit calls its clients back for; the rest of what it may ask is not answered. */
const secretMethod = '/moby.buildkit.secrets.v1.Secrets/GetSecret'
const healthMethod = '/grpc.health.v1.Health/Check'
/** How it signs in at a registry: as nobody. */
const signInMethod = '/moby.filesync.v1.Auth/Credentials'
const requestAtMost = 64 * 1024
const callsAtOnce = 100
const [ok, notFound, tooLarge, unimplemented] = [0, 5, 8, 12]

export interface BuildSession {
  /** Which BuildKit is told with the build. */
  id: string
  close(): void
}

/**
 * A connection over which BuildKit asks for what a build needs while it runs, in gRPC: the values of `RUN --mount=type=secret`. They go
 * into the memory of that step alone, and are in no layer and no setting. A build without such a connection cannot ask a registry.
 */
export async function openBuildSession(
  engine: Engine,
  findSecret: (id: string) => string | undefined,
  abort: AbortSignal,
): Promise<BuildSession> {
  const id = randomUUID()
  const socket = await ask(() => upgraded(engine, id), { abort })
  const session = performServerHandshake(socket as never, { settings: { maxConcurrentStreams: callsAtOnce } })
  session.on('error', () => socket.destroy())
  socket.on('error', () => session.destroy())
  session.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    answer(stream, headers, findSecret).catch(() => stream.destroy())
  })
  return {
    id,
    close() {
      session.destroy()
      socket.destroy()
    },
  }
}

function upgraded({ modem }: Engine, id: string): Promise<Duplex> {
  const headers = {
    Upgrade: 'h2c',
    'X-Docker-Expose-Session-Uuid': id,
    'X-Docker-Expose-Session-Name': 'berth',
    'X-Docker-Expose-Session-Grpc-Method': [secretMethod, signInMethod, healthMethod],
  }
  const options = { method: 'POST', path: '/session', hijack: true, headers, statusCodes: { 200: true, 101: true } }
  return new Promise((resolve, reject) =>
    modem.dial(options as never, (error: Error | null, socket: unknown) => (error ? reject(error) : resolve(socket as Duplex))),
  )
}

async function answer(
  stream: ServerHttp2Stream,
  { ':path': path }: IncomingHttpHeaders & { ':path'?: string },
  findSecret: (id: string) => string | undefined,
): Promise<void> {
  if (path === healthMethod) return reply(stream, Buffer.from([8, 1]))
  if (path === signInMethod) return reply(stream, Buffer.alloc(0))
  if (path !== secretMethod) return refuse(stream, unimplemented)
  const message = await messageOf(stream)
  if (!message) return refuse(stream, tooLarge)
  const value = findSecret(textField(message, 1))
  return value === undefined ? refuse(stream, notFound) : reply(stream, bytesField(1, Buffer.from(value)))
}

/** Each message has five bytes before it: whether it is packed, and its length. */
async function messageOf(stream: ServerHttp2Stream): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > requestAtMost) return undefined
    chunks.push(chunk)
  }
  const whole = Buffer.concat(chunks)
  return whole.length >= 5 && whole[0] === 0 ? whole.subarray(5, 5 + whole.readUInt32BE(1)) : undefined
}

const contentType = { ':status': 200, 'content-type': 'application/grpc' }

function reply(stream: ServerHttp2Stream, message: Buffer): void {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  stream.respond(contentType, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(ok) }))
  stream.end(Buffer.concat([head, message]))
}

const refuse = (stream: ServerHttp2Stream, status: number): void =>
  stream.respond({ ...contentType, 'grpc-status': String(status) }, { endStream: true })

/** A field of text in protobuf's wire format; '' where the message has none. */
export function textField(message: Buffer, wanted: number): string {
  for (let at = 0; at < message.length; ) {
    const [key, afterKey] = varint(message, at)
    // Texts and messages have a length before them; there is nothing else in what is asked here.
    if (key % 8 !== 2) return ''
    const [length, start] = varint(message, afterKey)
    if (Math.floor(key / 8) === wanted) return message.toString('utf8', start, start + length)
    at = start + length
  }
  return ''
}

export function bytesField(field: number, content: Buffer): Buffer {
  const length: number[] = []
  for (let rest = content.length; ; rest = Math.floor(rest / 128)) {
    length.push(rest < 128 ? rest : (rest % 128) + 128)
    if (rest < 128) break
  }
  return Buffer.concat([Buffer.from([field * 8 + 2, ...length]), content])
}

function varint(message: Buffer, from: number): [value: number, next: number] {
  let value = 0
  let at = from
  for (let scale = 1; at < message.length; scale *= 128) {
    const byte = message[at++] as number
    value += (byte & 127) * scale
    if (byte < 128) break
  }
  return [value, at]
}
