import { setTimeout as pause } from 'node:timers/promises'
import type { Planes } from './planes.ts'

export interface Followed {
  /** Status in the event `complete`. */
  status: string
  /** Connections that broke; each must be explained by a kill. */
  cuts: number
}

/**
 * Follows an event stream as a browser does: after a broken connection it connects to the next plane with the id of the last event.
 * Returns the end of the stream. A stream that ends by itself without `complete` is an error, unless a plane was killed meanwhile.
 */
export async function followToEnd(planes: Planes, path: string, first: number): Promise<Followed> {
  let lastEventId: string | undefined
  for (let cuts = 0; ; cuts++) {
    const plane = (first + cuts) % planes.all.length
    const before = killCount(planes)
    try {
      for await (const { event, id, data } of eventsOf(await planes.stream(plane, path, lastEventId))) {
        if (id) lastEventId = id
        if (event === 'complete') return { status: (JSON.parse(data) as { status: string }).status, cuts }
      }
      if (killCount(planes) === before && !planes.isKilling())
        throw new LostEnd(`${path} ended without complete on plane ${plane}`)
    } catch (error) {
      if (error instanceof LostEnd) throw error
    }
    await pause(100)
  }
}

export class LostEnd extends Error {}

const killCount = ({ kills }: Planes) => kills.reduce((sum, count) => sum + count, 0)

interface ServerEvent {
  event: string
  id: string | undefined
  data: string
}

async function* eventsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop()!
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
      )
      if (fields.has('event')) yield { event: fields.get('event')!, id: fields.get('id'), data: fields.get('data') ?? '' }
    }
  }
}
