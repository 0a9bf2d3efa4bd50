import type { ErrorBody } from '@berth/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EventStream } from './handler.ts'

/** Unsent bytes after which a client counts as too slow and is disconnected. */
const maximumUnsentBytes = 1024 * 1024
const heartbeatMs = 15_000
const closingMs = 2_000

export interface OpenStream extends EventStream {
  /** Flushes the last frame and closes. */
  end(): void
  /** Closes the stream with a last event that states the reason; a client that does not read it is disconnected. */
  close(reason: ErrorBody): void
}

/** Opens a stream of server-sent events on a reply: first byte at once, a heartbeat, bounded memory. */
export function openStream(request: FastifyRequest, reply: FastifyReply, stopping: AbortSignal): OpenStream {
  reply.hijack()
  const out = reply.raw
  const disconnected = new AbortController()
  const onStop = () => disconnected.abort(new Error('the server is stopping'))
  stopping.addEventListener('abort', onStop, { once: true })
  out.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // nginx and similar proxies buffer a stream until it ends, unless this header disables it.
    'x-accel-buffering': 'no',
    connection: 'keep-alive',
    ...(reply.getHeaders() as Record<string, string>),
  })
  out.write(': open\n\n')
  out.on('error', () => {})

  const heartbeat = setInterval(() => out.write(': \n\n'), heartbeatMs)
  out.on('close', () => {
    clearInterval(heartbeat)
    stopping.removeEventListener('abort', onStop)
    disconnected.abort(new Error('the client disconnected'))
  })

  return {
    lastEventId: (request.headers['last-event-id'] as string | undefined) || null,
    abort: disconnected.signal,
    async send(event, data, id) {
      if (disconnected.signal.aborted) throw disconnected.signal.reason
      const hasSpace = out.write(frame(event, data, id))
      if (hasSpace) return
      if (out.writableLength > maximumUnsentBytes) {
        out.destroy()
        throw new Error('the client reads too slowly')
      }
      await waitForDrain(out, disconnected.signal)
    },
    end() {
      clearInterval(heartbeat)
      if (!out.destroyed && !out.writableEnded) out.end()
    },
    close(reason) {
      if (disconnected.signal.aborted) return
      disconnected.abort(new Error(reason.error))
      clearInterval(heartbeat)
      out.end(frame('closed', reason))
      setTimeout(() => out.destroy(), closingMs).unref()
    },
  }
}

/** `JSON.stringify` leaves no line break in its output, so that one data line is enough. */
export const frame = (event: string, data: unknown, id?: string) =>
  `${id === undefined ? '' : `id: ${id.replace(/[\r\n\0]/g, '')}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

function waitForDrain(out: NodeJS.WritableStream, disconnected: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onDrain = () => {
      disconnected.removeEventListener('abort', onDisconnect)
      resolve()
    }
    const onDisconnect = () => {
      out.removeListener('drain', onDrain)
      reject(disconnected.reason)
    }
    out.once('drain', onDrain)
    disconnected.addEventListener('abort', onDisconnect, { once: true })
  })
}
