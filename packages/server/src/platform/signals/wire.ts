import type { Socket } from 'node:net'
import { NotifyBatcher, type WireMessage } from './notify-batcher.ts'

/** A frame is a line of JSON: a batch of messages. A batch has at most 8 KB. */
const longestFrame = 64 * 1024

/** The topic of a message on which every listener reads its state again. */
export const everyTopic = '*'

/** Either side of a signals connection. Messages wait in a bounded queue while the other side is slow or disconnected. */
export class SignalLink {
  readonly #queue = new NotifyBatcher()
  #socket: Socket | undefined
  #isFull = false
  #isScheduled = false

  add(topic: string, event: object): void {
    this.#queue.add(topic, event)
    this.#sendSoon()
  }

  addReread(topic: string): void {
    this.#queue.addReread(topic)
    this.#sendSoon()
  }

  /** Sends queued messages and delivers received ones until the socket closes. A malformed frame closes the socket. */
  open(socket: Socket, deliver: (message: WireMessage) => void): void {
    this.#socket = socket
    this.#isFull = false
    let received = ''
    socket.setEncoding('utf8')
    socket.on('drain', () => {
      this.#isFull = false
      this.#send()
    })
    socket.on('data', (chunk: string) => {
      const frames = (received + chunk).split('\n')
      received = frames.pop() as string
      try {
        for (const frame of frames) for (const message of JSON.parse(frame) as WireMessage[]) deliver(message)
      } catch (error) {
        socket.destroy(error as Error)
      }
      if (received.length > longestFrame) socket.destroy(new Error('a signal frame is too long'))
    })
    socket.once('close', () => {
      if (this.#socket === socket) this.#socket = undefined
    })
    this.#send()
  }

  /** Sends what waits at once, before the socket is closed. */
  flush(): void {
    this.#send()
  }

  /** The messages of one turn of the event loop, such as those of a shared commit, are sent together. */
  #sendSoon(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => {
      this.#isScheduled = false
      this.#send()
    })
  }

  #send(): void {
    while (this.#socket?.writable && !this.#isFull && !this.#queue.isEmpty)
      this.#isFull = !this.#socket.write(`${JSON.stringify(this.#queue.take())}\n`)
  }
}
