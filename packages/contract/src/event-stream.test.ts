import { describe, expect, test } from 'vitest'
import { createEventParser, readEvents, type ServerSentEvent } from './event-stream.ts'

const parse = (...pieces: string[]): ServerSentEvent[] => {
  const take = createEventParser()
  return pieces.flatMap((piece) => take(piece))
}

const whole = ': hello\r\nid: 7\r\nevent: log\r\ndata: one\r\ndata:two\r\n\r\n:ping\n\ndata: é€😀\rid: 8\r\rdata\n\n'
const events = [
  { id: '7', event: 'log', data: 'one\ntwo' },
  { id: '8', event: 'message', data: 'é€😀' },
  { id: '8', event: 'message', data: '' },
]

describe('the event stream parser', () => {
  test('reads CRLF, LF and CR, comments and data of several lines', () => {
    expect(parse(whole)).toEqual(events)
  })

  test('gives the same events wherever the text is split in two', () => {
    for (let at = 0; at <= whole.length; at++) expect(parse(whole.slice(0, at), whole.slice(at))).toEqual(events)
  })

  test('gives the same events if the text arrives character by character', () => {
    expect(parse(...whole)).toEqual(events)
  })

  test('removes one leading space of a value, and only one', () => {
    expect(parse('data:  two spaces\n\n')).toEqual([{ id: null, event: 'message', data: ' two spaces' }])
  })

  test('keeps the last id for events without one, and resets it on an empty id', () => {
    expect(parse('id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n').map((event) => event.id)).toEqual(['1', '1', ''])
  })

  test('does not apply the name of an event without data to the next event', () => {
    expect(parse('event: step\n\ndata: x\n\n')).toEqual([{ id: null, event: 'message', data: 'x' }])
  })

  test('ignores unknown fields and an id with a NUL', () => {
    expect(parse('retry: 5\nid: a\0b\nwhat: ever\ndata: x\n\n')).toEqual([{ id: null, event: 'message', data: 'x' }])
  })

  test('drops an event that is incomplete at the end of the stream', () => {
    expect(parse('data: whole\n\ndata: half\n')).toHaveLength(1)
  })
})

describe('readEvents', () => {
  const bytes = new TextEncoder().encode(whole)

  test('gives the same events wherever the bytes are split, also inside a character', async () => {
    for (let at = 0; at <= bytes.length; at++) {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(bytes.slice(0, at))
          controller.enqueue(bytes.slice(at))
          controller.close()
        },
      })
      const seen: ServerSentEvent[] = []
      for await (const event of readEvents(body)) seen.push(event)
      expect(seen).toEqual(events)
    }
  })

  test('leaving the loop closes the connection', async () => {
    let closed = false
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytes),
      cancel: () => {
        closed = true
      },
    })
    for await (const event of readEvents(body)) {
      expect(event).toEqual(events[0])
      break
    }
    expect(closed).toBe(true)
  })
})
