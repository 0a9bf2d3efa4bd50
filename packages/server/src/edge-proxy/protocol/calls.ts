import { errorMessage } from '../../platform/error-message.ts'
import type { TrafficMinute } from './traffic.ts'

/** Questions and answers between the control plane, the edge and its workers; plain JSON. */
export interface CallMessage {
  id: number
  call: string
  args: unknown[]
}

export interface ReplyMessage {
  id: number
  value?: unknown
  error?: string
}

export type EdgeEvent =
  | { event: 'requests'; batch: unknown[]; dropped: number }
  | { event: 'wake'; projectId: string; hostname: string }
  | { event: 'certificate'; hostname: string }
  | { event: 'traffic'; minutes: TrafficMinute[] }

/** Thrown at everybody who waits when the other side is gone. */
export class EdgeGone extends Error {
  constructor(reason: string) {
    super(`the edge process exited: ${reason}`)
    this.name = 'EdgeGone'
  }
}

interface Waiting {
  resolve(value: unknown): void
  reject(reason: unknown): void
}

/** Asks over a channel that carries messages both ways, and matches answers to questions. */
export class Caller {
  readonly #send: (message: CallMessage) => void
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0

  constructor(send: (message: CallMessage) => void) {
    this.#send = send
  }

  request<Value>(call: string, args: unknown[], abort?: AbortSignal): Promise<Value> {
    abort?.throwIfAborted()
    this.#lastId += 1
    const id = this.#lastId
    return new Promise<Value>((resolve, reject) => {
      const give = () => {
        this.#waiting.delete(id)
        reject(abort?.reason)
      }
      const done = () => {
        this.#waiting.delete(id)
        abort?.removeEventListener('abort', give)
      }
      this.#waiting.set(id, {
        resolve: (value) => {
          done()
          resolve(value as Value)
        },
        reject: (reason) => {
          done()
          reject(reason)
        },
      })
      abort?.addEventListener('abort', give, { once: true })
      this.#send({ id, call, args })
    })
  }

  /** True when the message was an answer. */
  hear(message: unknown): boolean {
    if (!isReply(message)) return false
    const waiting = this.#waiting.get(message.id)
    if (message.error !== undefined) waiting?.reject(new Error(message.error))
    else waiting?.resolve(message.value)
    return true
  }

  fail(reason: Error): void {
    for (const waiting of [...this.#waiting.values()]) waiting.reject(reason)
  }
}

/** Runs the call that a message names, and answers it; a failure becomes words. */
export async function answerCall(
  message: CallMessage,
  calls: Record<string, (...args: never[]) => unknown>,
  reply: (message: ReplyMessage) => void,
): Promise<void> {
  const { id } = message
  try {
    const run = Object.hasOwn(calls, message.call) ? calls[message.call] : undefined
    if (!run) throw new Error(`no such call: ${message.call}`)
    reply({ id, value: await run(...(message.args as never[])) })
  } catch (cause) {
    reply({ id, error: errorMessage(cause) })
  }
}

export const isCall = (message: unknown): message is CallMessage =>
  typeof message === 'object' &&
  message !== null &&
  'call' in message &&
  'id' in message &&
  Array.isArray((message as CallMessage).args)

const isReply = (message: unknown): message is ReplyMessage =>
  typeof message === 'object' && message !== null && 'id' in message && !('call' in message)
