import { errorMessage } from '../../platform/error-message.ts'
import type { TrafficMinute } from './traffic.ts'

/** Calls and replies between the control plane, the edge and its workers, as JSON. */
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

/** The edge process has exited; every pending call is rejected with this error. */
export class EdgeExited extends Error {
  constructor(reason: string) {
    super(`the edge process exited: ${reason}`)
    this.name = 'EdgeExited'
  }
}

interface PendingCall {
  resolve(value: unknown): void
  reject(reason: unknown): void
}

/** Sends calls over a bidirectional channel and matches the replies to them. */
export class Caller {
  readonly #send: (message: CallMessage) => void
  readonly #pending = new Map<number, PendingCall>()
  #lastId = 0

  constructor(send: (message: CallMessage) => void) {
    this.#send = send
  }

  request<Value>(call: string, args: unknown[], abort?: AbortSignal): Promise<Value> {
    abort?.throwIfAborted()
    this.#lastId += 1
    const id = this.#lastId
    return new Promise<Value>((resolve, reject) => {
      const onAbort = () => {
        this.#pending.delete(id)
        reject(abort?.reason)
      }
      const removePending = () => {
        this.#pending.delete(id)
        abort?.removeEventListener('abort', onAbort)
      }
      this.#pending.set(id, {
        resolve: (value) => {
          removePending()
          resolve(value as Value)
        },
        reject: (reason) => {
          removePending()
          reject(reason)
        },
      })
      abort?.addEventListener('abort', onAbort, { once: true })
      this.#send({ id, call, args })
    })
  }

  /** Handles a reply; returns false if the message is not a reply. */
  handleReply(message: unknown): boolean {
    if (!isReply(message)) return false
    const pending = this.#pending.get(message.id)
    if (message.error !== undefined) pending?.reject(new Error(message.error))
    else pending?.resolve(message.value)
    return true
  }

  fail(reason: Error): void {
    for (const pending of [...this.#pending.values()]) pending.reject(reason)
  }
}

/** Runs the named call and sends its reply; an error is sent as its message. */
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
