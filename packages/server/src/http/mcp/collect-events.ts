import { type ErrorBody, statusOf } from '@berth/contract'
import { createEventParser, type ServerSentEvent } from '@berth/contract/event-stream'
import type { LightMyRequestResponse } from 'fastify'
import type { RowAnswer } from './row-answer.ts'
import { maxResultBytes } from './untrusted-text.ts'

export interface StreamBounds {
  maxSeconds: number
  /** Fires when the client disconnects. */
  signal: AbortSignal
  onEvent?(event: ServerSentEvent, count: number): Promise<void>
}

type EndedBy = 'the stream' | 'maxSeconds' | 'the size limit' | 'the client'

/** Collects the events of a row's stream until it ends, time is up or the result is full. */
export async function collectEvents(response: LightMyRequestResponse, bounds: StreamBounds): Promise<RowAnswer> {
  const lines: string[] = []
  let [bytes, lastEventId] = [0, null as string | null]
  let endedBy: EndedBy = 'the stream'
  const stream = response.stream()
  // The route sees the end of its response as a client that disconnects.
  const stop = (by: EndedBy) => {
    endedBy = by
    response.raw.res.destroy()
    stream.destroy()
  }
  const timer = setTimeout(() => stop('maxSeconds'), bounds.maxSeconds * 1000)
  const onAbort = () => stop('the client')
  bounds.signal.addEventListener('abort', onAbort, { once: true })
  if (bounds.signal.aborted) onAbort()
  try {
    for await (const event of eventsOf(stream)) {
      if (event.event === 'closed') return refusedDuring(JSON.parse(event.data) as ErrorBody, lines)
      const line = `${event.event} ${event.data}`
      bytes += Buffer.byteLength(line)
      if (bytes > maxResultBytes && lines.length > 0) {
        stop('the size limit')
        break
      }
      lines.push(line)
      lastEventId = event.id
      await bounds.onEvent?.(event, lines.length)
    }
  } catch (error) {
    if (endedBy === 'the stream') throw error
  } finally {
    clearTimeout(timer)
    bounds.signal.removeEventListener('abort', onAbort)
    response.raw.res.destroy()
  }
  const rest = endedBy === 'the stream' || lastEventId === null ? '' : `, continue with lastEventId ${lastEventId}`
  return { status: 200, text: [...lines, `(${lines.length} events; ended by ${endedBy}${rest})`].join('\n') }
}

async function* eventsOf(stream: AsyncIterable<Buffer>): AsyncGenerator<ServerSentEvent, void> {
  const decoder = new TextDecoder()
  const parse = createEventParser()
  for await (const chunk of stream) yield* parse(decoder.decode(chunk, { stream: true }))
}

/** The route closed the stream, for example because the token was revoked. */
const refusedDuring = (error: ErrorBody, lines: string[]): RowAnswer => ({
  status: statusOf(error.code),
  text: [...lines, JSON.stringify(error)].join('\n'),
  error,
})
