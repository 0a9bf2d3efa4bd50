import net from 'node:net'
import { Caller, type EdgeEvent, EdgeExited } from '../../edge-proxy/protocol/calls.ts'
import type { EdgeIdentity } from '../../edge-proxy/protocol/edge-settings.ts'
import { JsonLines } from '../../edge-proxy/protocol/json-lines.ts'
import { socketAddress } from '../../platform/socket-path.ts'

/** A connection to a running edge. */
export interface EdgeLink {
  readonly identity: EdgeIdentity
  /** Rejects with `EdgeExited` when the connection closes before the response. */
  call<Value>(call: string, args: unknown[], abort?: AbortSignal): Promise<Value>
  close(): void
  readonly isOpen: boolean
  /** Resolves when the connection has closed, at the latest with the end of the process. */
  readonly closed: Promise<void>
}

export interface EdgeLinkEvents {
  onEvent(event: EdgeEvent): void
  /** Called once, no matter which side closed it. */
  onClosed(): void
}

const attachTimeoutMs = 5_000

/** Connects to an edge; undefined when no process listens on the path. */
export async function openEdgeLink(path: string, events: EdgeLinkEvents): Promise<EdgeLink | undefined> {
  const socket = await connect(path)
  if (!socket) return undefined
  const caller = new Caller((message) => lines.send(message))
  const lines = new JsonLines(socket, (message) => {
    if (!caller.handleReply(message)) events.onEvent(message as EdgeEvent)
  })
  let attached = false
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('close', () => {
    caller.fail(new EdgeExited('its control socket closed'))
    if (attached) events.onClosed()
  })
  const request = <Value>(call: string, args: unknown[], abort?: AbortSignal): Promise<Value> =>
    socket.writable ? caller.request<Value>(call, args, abort) : Promise.reject(new EdgeExited('its control socket is closed'))
  try {
    const identity = await request<EdgeIdentity>('attach', [], AbortSignal.timeout(attachTimeoutMs))
    attached = true
    return {
      identity,
      call: request,
      close: () => socket.destroy(),
      closed,
      get isOpen() {
        return !socket.destroyed
      },
    }
  } catch (cause) {
    socket.destroy()
    if (cause instanceof EdgeExited) return undefined
    throw cause
  }
}

function connect(path: string): Promise<net.Socket | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect(socketAddress(path))
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
}
