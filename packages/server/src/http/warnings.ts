import type { AnyRoute } from '@berth/contract'
import { Warnings } from '@berth/contract'

/** The response schema of a route, with the `warnings` about its request. */
export function replyOf({ returns }: AnyRoute): object {
  if (!returns?.properties || returns.properties.warnings) return returns
  return { ...returns, properties: { ...returns.properties, warnings: Warnings } }
}

/** Adds the warnings about the request to the response, next to its `data`. */
export function withWarnings(answer: unknown, warnings: readonly string[] | undefined): unknown {
  if (!warnings || typeof answer !== 'object' || answer === null) return answer
  const own = (answer as { warnings?: string[] }).warnings ?? []
  return { ...answer, warnings: [...own, ...warnings] }
}
