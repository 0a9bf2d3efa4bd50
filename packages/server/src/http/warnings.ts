import type { AnyRoute } from '@berth/contract'
import { Warnings } from '@berth/contract'

const replies = new WeakMap<AnyRoute, object>()

/** The response schema of a route, with the `warnings` about its request: one object per route, so that it is compiled once. */
export function replyOf(row: AnyRoute): object {
  const { returns } = row
  if (!returns?.properties || returns.properties.warnings) return returns
  const reply = replies.get(row) ?? { ...returns, properties: { ...returns.properties, warnings: Warnings } }
  replies.set(row, reply)
  return reply
}

/** Adds the warnings about the request to the response, next to its `data`. */
export function withWarnings(answer: unknown, warnings: readonly string[] | undefined): unknown {
  if (!warnings || typeof answer !== 'object' || answer === null) return answer
  const own = (answer as { warnings?: string[] }).warnings ?? []
  return { ...answer, warnings: [...own, ...warnings] }
}
