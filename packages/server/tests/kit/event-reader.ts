import { type IncomingMessage, request } from 'node:http'

export interface SentEvent {
  id: string | null
  event: string
  // biome-ignore lint/suspicious/noExplicitAny: each test says what it expects to find in it
  data: any
}

export interface EventReader {
  status: number
  /** The events received so far. */
  events: SentEvent[]
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>
  close(): void
}

/** Reads a stream of server-sent events over real HTTP. With a body, the request is a POST. */
export async function readEvents(url: string, headers: Record<string, string> = {}, body?: object): Promise<EventReader> {
  const sent = body && { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, sent ?? { headers }, resolve)
      .on('error', reject)
      .end(body && JSON.stringify(body))
  })
  const events: SentEvent[] = []
  let text = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    const frames = (text + chunk).split('\n\n')
    text = frames.pop() ?? ''
    events.push(...frames.flatMap(eventOf))
  })
  const ended = new Promise<void>((resolve) => response.on('close', resolve).on('error', () => resolve()))
  return { status: response.statusCode ?? 0, events, ended, close: () => response.destroy() }
}

function eventOf(frame: string): SentEvent[] {
  const field = (name: string) =>
    frame
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
  const event = field('event')
  return event === undefined ? [] : [{ id: field('id') ?? null, event, data: JSON.parse(field('data') ?? 'null') }]
}
