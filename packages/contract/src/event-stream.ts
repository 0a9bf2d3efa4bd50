export interface ServerSentEvent {
  /** The last id that the stream gave, on this event or an earlier one; null before the first. */
  id: string | null
  event: string
  data: string
}

/** Reads the text of an event stream in pieces of any size. An event that the end cuts short is dropped, as browsers do. */
export function createEventParser(): (piece: string) => ServerSentEvent[] {
  let line = ''
  let afterReturn = false
  let id: string | null = null
  let event = ''
  let data: string[] = []

  function endEvent(): ServerSentEvent[] {
    const found = data.length > 0 ? [{ id, event: event || 'message', data: data.join('\n') }] : []
    event = ''
    data = []
    return found
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

  return (piece) => {
    const found: ServerSentEvent[] = []
    let start = 0
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      // The line feed of a CRLF, which may come in the next piece, ends nothing of its own.
      if (afterReturn && code === lineFeed) start = at + 1
      else if (code === lineFeed || code === carriageReturn) {
        line += piece.slice(start, at)
        start = at + 1
        found.push(...endLine())
      }
      afterReturn = code === carriageReturn
    }
    line += piece.slice(start)
    return found
  }
}

const lineFeed = 10
const carriageReturn = 13

/** The events of a response body; leaving the loop early closes the connection. */
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
