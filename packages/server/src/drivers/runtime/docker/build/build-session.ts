import { randomUUID } from 'node:crypto'
import { type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import { callEngine, type Engine } from '../engine.ts'
import { beginReply, framed, messagesOf, openUpgraded, sendError } from './grpc.ts'
import { bytesField, textIn } from './protobuf.ts'
import { type SentFolder, sendFolder } from './send-folder.ts'

/** Callbacks that BuildKit may use. All others are refused. */
const secretMethod = '/moby.buildkit.secrets.v1.Secrets/GetSecret'
const folderMethod = '/moby.filesync.v1.FileSync/DiffCopy'
const healthMethod = '/grpc.health.v1.Health/Check'
/** Registry login, which is answered with empty credentials. */
const credentialsMethod = '/moby.filesync.v1.Auth/Credentials'
const maxRequestBytes = 64 * 1024
const maxConcurrentCalls = 100

export interface BuildSession {
  /** Session id that is passed to BuildKit with the build. */
  id: string
  close(): void
}

export interface SessionParts {
  findSecret(id: string): string | undefined
  /** Folders by BuildKit's names: `context`, and `dockerfile` for the folder of the Dockerfile. */
  folders: Readonly<Record<string, SentFolder>>
}

/**
 * Opens a gRPC connection over which BuildKit requests the files of a build and the values of `RUN --mount=type=secret`.
 * Secrets exist only in the memory of that step, in no layer or setting. The Dockerfile has its own folder, so that the
 * context holds only files of the project. Without a session BuildKit cannot access registries.
 */
export async function openBuildSession(engine: Engine, parts: SessionParts, abort: AbortSignal): Promise<BuildSession> {
  const id = randomUUID()
  const headers = {
    'X-Docker-Expose-Session-Uuid': id,
    'X-Docker-Expose-Session-Name': 'berth',
    // Unique per build: with the same key, BuildKit takes a file of the same size and time for unchanged.
    'X-Docker-Expose-Session-Sharedkey': id,
    'X-Docker-Expose-Session-Grpc-Method': [secretMethod, folderMethod, credentialsMethod, healthMethod],
  }
  const socket = await callEngine(() => openUpgraded(engine, '/session', headers), { abort })
  const session = performServerHandshake(socket as never, { settings: { maxConcurrentStreams: maxConcurrentCalls } })
  session.on('error', () => socket.destroy())
  socket.on('error', () => session.destroy())
  session.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    handleCall(stream, headers, parts).catch(() => stream.destroy())
  })
  return {
    id,
    close() {
      session.destroy()
      socket.destroy()
    },
  }
}

async function handleCall(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders & { ':path'?: string },
  { findSecret, folders }: SessionParts,
): Promise<void> {
  const path = headers[':path']
  if (path === healthMethod) return reply(stream, Buffer.from([8, 1]))
  if (path === credentialsMethod) return reply(stream, Buffer.alloc(0))
  if (path === folderMethod) {
    const folder = folders[String(headers['dir-name'])]
    return folder ? sendFolder(stream, folder, parsePaths(headers.followpaths)) : sendError(stream, 'not_found')
  }
  if (path !== secretMethod) return sendError(stream, 'unimplemented')
  const message = await firstMessage(stream)
  if (!message) return sendError(stream, 'too_large')
  const value = findSecret(textIn(message, 1))
  return value === undefined ? sendError(stream, 'not_found') : reply(stream, bytesField(1, value))
}

const parsePaths = (header: string | string[] | undefined): string[] =>
  [header ?? []].flat().flatMap((one) => one.split(',').map((path) => path.trim()))

async function firstMessage(stream: ServerHttp2Stream): Promise<Buffer | undefined> {
  try {
    for await (const message of messagesOf(stream, maxRequestBytes)) return message
  } catch {
    // Longer than any request of BuildKit.
  }
  return undefined
}

function reply(stream: ServerHttp2Stream, message: Buffer): void {
  beginReply(stream)
  stream.end(framed(message))
}
