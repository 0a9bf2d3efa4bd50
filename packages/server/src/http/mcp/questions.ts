import { randomBytes } from 'node:crypto'
import { isReread } from '../../platform/signals/signals.ts'
import type { Caller } from '../handler.ts'
import { isObject, type RequestId } from './json-rpc.ts'
import type { McpSettings } from './settings.ts'

/** How long a person may take to answer. */
const answerMs = 2 * 60_000
const topic = 'mcp-answers'

export type Answer = 'accepted' | 'declined' | 'unanswered'

interface AnswerSignal {
  id: string
  tokenId: string
  answer: Answer
}

/** The question as the client shows it. */
export const confirmationForm = (message: string) => ({
  mode: 'form',
  message,
  requestedSchema: {
    type: 'object',
    properties: { confirm: { type: 'boolean', title: 'Confirm', description: 'Do this now', default: false } },
    required: ['confirm'],
  },
})

/** The answer in the client's result: only an accepted form with the box checked confirms. */
export function answerIn(result: unknown): Answer {
  if (!isObject(result)) return 'unanswered'
  if (result.action === 'decline') return 'declined'
  if (result.action !== 'accept') return 'unanswered'
  return isObject(result.content) && result.content.confirm === true ? 'accepted' : 'declined'
}

/**
 * Open questions to clients that send `initialize`: the question is a message on the stream of the tool call, the answer a request of
 * its own, which may reach another control plane.
 */
export class Questions {
  readonly #signals: McpSettings['signals']
  readonly #open = new Map<string, { tokenId: string; settle(answer: Answer): void }>()
  readonly #unsubscribe: () => void

  constructor({ signals }: Pick<McpSettings, 'signals'>) {
    this.#signals = signals
    this.#unsubscribe = signals.subscribe<AnswerSignal>(topic, (event) => {
      if (!isReread(event)) this.#settle(event)
    })
  }

  async ask(
    { tokenId }: Caller,
    message: string,
    send: (message: object) => Promise<void>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const id = `berth-${randomBytes(12).toString('base64url')}`
    let timer: NodeJS.Timeout | undefined
    const answered = new Promise<Answer>((settle) => {
      timer = setTimeout(() => settle('unanswered'), answerMs)
      signal.addEventListener('abort', () => settle('unanswered'), { once: true })
      this.#open.set(id, { tokenId: tokenId as string, settle })
    })
    try {
      await send({ jsonrpc: '2.0', id, method: 'elicitation/create', params: confirmationForm(message) })
      return await answered
    } finally {
      clearTimeout(timer)
      this.#open.delete(id)
    }
  }

  /** Takes a response of the client. An unknown id may belong to a question of another control plane. */
  answer({ tokenId }: Caller, id: RequestId, result: unknown): void {
    const event: AnswerSignal = { id: String(id), tokenId: tokenId as string, answer: answerIn(result) }
    if (!this.#settle(event)) this.#signals.publish(topic, event)
  }

  close(): void {
    this.#unsubscribe()
  }

  #settle({ id, tokenId, answer }: AnswerSignal): boolean {
    const question = this.#open.get(id)
    if (question?.tokenId !== tokenId) return false
    question.settle(answer)
    return true
  }
}
