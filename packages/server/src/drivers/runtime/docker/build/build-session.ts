import { randomUUID } from 'node:crypto'
import { type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import { ask, type Engine } from '../engine.ts'
import { beginReply, framed, messagesOf, refuse, upgraded } from './grpc.ts'
import { bytesField, textIn } from './protobuf.ts'
import { type SentFolder, sendFolder } from './send-folder.ts'

/** What BuildKit calls its clients back for; the rest of what it may ask is not answered. */
const secretMethod = '/moby.buildkit.secrets.v1.Secrets/GetSecret'
const folderMethod = '/moby.filesync.v1.FileSync/DiffCopy'
const healthMethod = '/grpc.health.v1.Health/Check'
/** How it signs in at a registry: as nobody. */
const signInMethod = '/moby.filesync.v1.Auth/Credentials'
const requestAtMost = 64 * 1024
const callsAtOnce = 100

export interface BuildSession {
  /** Which BuildKit is told with the build. */
  id: string
  close(): void
}

export interface SessionParts {
  findSecret(id: string): string | undefined
  /** Folders by BuildKit's names: `context`, and `dockerfile` for the folder that the Dockerfile is in. */
  folders: Readonly<Record<string, SentFolder>>
}

/**
 * A connection over which BuildKit asks for what a build needs while it runs, in gRPC: the values of `RUN --mount=type=secret`, which
 * go into the memory of that step alone and are in no layer and no setting, and the files. The Dockerfile is in a folder of its own,
 * so that the context holds the project's files and no others. A build without such a connection cannot ask a registry.
 */
export async function openBuildSession(engine: Engine, parts: SessionParts, abort: AbortSignal): Promise<BuildSession> {
  const id = randomUUID()
  const headers = {
    'X-Docker-Expose-Session-Uuid': id,
    'X-Docker-Expose-Session-Name': 'berth',
    // Of this build alone: BuildKit takes a file of the same size and time for the same file as before.
    'X-Docker-Expose-Session-Sharedkey': id,
    'X-Docker-Expose-Session-Grpc-Method': [secretMethod, folderMethod, signInMethod, healthMethod],
  }
  const socket = await ask(() => upgraded(engine, '/session', headers), { abort })
  const session = performServerHandshake(socket as never, { settings: { maxConcurrentStreams: callsAtOnce } })
  session.on('error', () => socket.destroy())
  socket.on('error', () => session.destroy())
  session.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    answer(stream, headers, parts).catch(() => stream.destroy())
  })
  return {
    id,
    close() {
      session.destroy()
      socket.destroy()
    },
  }
}

async function answer(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders & { ':path'?: string },
  { findSecret, folders }: SessionParts,
): Promise<void> {
  const path = headers[':path']
  if (path === healthMethod) return reply(stream, Buffer.from([8, 1]))
  if (path === signInMethod) return reply(stream, Buffer.alloc(0))
  if (path === folderMethod) {
    const folder = folders[String(headers['dir-name'])]
    return folder ? sendFolder(stream, folder, pathsIn(headers.followpaths)) : refuse(stream, 'not_found')
  }
  if (path !== secretMethod) return refuse(stream, 'unimplemented')
  const message = await firstMessage(stream)
  if (!message) return refuse(stream, 'too_large')
  const value = findSecret(textIn(message, 1))
  return value === undefined ? refuse(stream, 'not_found') : reply(stream, bytesField(1, value))
}

const pathsIn = (header: string | string[] | undefined): string[] =>
  [header ?? []].flat().flatMap((one) => one.split(',').map((path) => path.trim()))

async function firstMessage(stream: ServerHttp2Stream): Promise<Buffer | undefined> {
  try {
    for await (const message of messagesOf(stream, requestAtMost)) return message
  } catch {
    // It is longer than anything that BuildKit asks.
  }
  return undefined
}

function reply(stream: ServerHttp2Stream, message: Buffer): void {
  beginReply(stream)
  stream.end(framed(message))
}
