import type { RowAnswer } from './row-answer.ts'
import { asData } from './untrusted-text.ts'

/** The result of a tool call, as the client receives it. */
export interface ToolResult {
  content: { type: 'text'; text: string }[]
  isError?: true
  /** Read by programs; models read the text. */
  _meta?: { httpStatus: number; errorCode?: string }
}

export const textResult = (text: string): ToolResult => ({ content: [{ type: 'text', text }] })
export const errorResult = (text: string): ToolResult => ({ ...textResult(text), isError: true })

/** The result for a row's response. Its text is marked as data, an error message too: it may contain a name that a user chose. */
export function answerResult({ status, text, error }: RowAnswer): ToolResult {
  const shown = text === '' ? 'Done. The route returns nothing.' : asData(text)
  const meta = { httpStatus: status, ...(error?.code ? { errorCode: error.code } : {}) }
  return error
    ? { ...errorResult(`The call failed with ${status} ${error.code ?? ''}.\n${shown}`), _meta: meta }
    : { ...textResult(shown), _meta: meta }
}
