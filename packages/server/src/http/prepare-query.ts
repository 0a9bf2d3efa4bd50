import type { AnyRoute } from '@berth/contract'
import type { FastifyRequest } from 'fastify'
import { boundedWarnings } from './unknown-fields.ts'

interface QuerySchema {
  properties?: Record<string, { type?: string }>
}

const flags: Record<string, string> = { '1': 'true', '0': 'false' }

/**
 * Before the query is validated: a boolean may be written `1` or `0`, and parameters that the row does not declare are named in
 * `warnings`, as unknown fields of a body are. A stream gets none: its first event is its own.
 */
export function prepareQuery({ query: schema, stream, conceal }: AnyRoute, { query, state }: FastifyRequest): void {
  const given = query as Record<string, unknown>
  const { properties = {} } = (schema ?? {}) as QuerySchema
  let unknown: string[] | undefined
  for (const name in given) {
    if (!Object.hasOwn(properties, name)) unknown = [...(unknown ?? []), name]
    else if (properties[name]?.type === 'boolean') given[name] = flags[given[name] as string] ?? given[name]
  }
  if (unknown && !stream && !conceal) state.warnings = [...(state.warnings ?? []), ...boundedWarnings('query parameter', unknown)]
}
