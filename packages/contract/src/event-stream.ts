export interface ServerSentEvent {
  /** The last id in the stream so far, from this event or an earlier one; null if there was none. */
  id: string | null
  event: string
  data: string
}

/** Parses the text of an event stream in chunks of any size. An incomplete event at the end is dropped, as in browsers. */
export function createEventParser(): (chunk: string) => ServerSentEvent[] {
  let line = ''
  let afterReturn = false
  let id: string | null = null
  let event = ''
  let data: string[] = []

  function endEvent(): ServerSentEvent[] {
    const events = data.length > 0 ? [{ id, event: event || 'message', data: data.join('\n') }] : []
    event = ''
    data = []
    return events
  }

  function endLine(): ServerSentEvent[] {
    const text = line
    line = ''
    if (text === '') return endEvent()
    const colon = text.indexOf(':')
    if (colon === 0) return [] // a comment, which keeps the connection open
    const field = colon === -1 ? text : text.slice(0, colon)
    const value = colon === -1 ? '' : text.slice(colon + (text[colon + 1] === ' ' ? 2 : 1))
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id' && !value.includes('\0')) id = value
    return []
  }

  return (chunk) => {
    const events: ServerSentEvent[] = []
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      const code = chunk.charCodeAt(at)
      // Skips the line feed of a CRLF, which may be in the next chunk.
      if (afterReturn && code === lineFeed) start = at + 1
      else if (code === lineFeed || code === carriageReturn) {
        line += chunk.slice(start, at)
        start = at + 1
        events.push(...endLine())
      }
      afterReturn = code === carriageReturn
    }
    line += chunk.slice(start)
    return events
  }
}

const lineFeed = 10
const carriageReturn = 13

/** Yields the events of a response body. Leaving the loop early closes the connection. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const parse = createEventParser()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield* parse(decoder.decode(value, { stream: true }))
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
