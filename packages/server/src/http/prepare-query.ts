import type { AnyRoute } from '@berth/contract'
import type { FastifyRequest } from 'fastify'
import { boundedWarnings } from './unknown-fields.ts'

interface QuerySchema {
  properties?: Record<string, { type?: string }>
}

const flags: Record<string, string> = { '1': 'true', '0': 'false' }

/**
 * Prepares the query for validation: a boolean may be `1` or `0`, and undeclared parameters are reported in `warnings`, like
 * unknown body fields. Streams get no warnings about the query.
 */
export function prepareQuery({ query: schema, stream, conceal }: AnyRoute, { query, state }: FastifyRequest): void {
  const values = query as Record<string, unknown>
  const { properties = {} } = (schema ?? {}) as QuerySchema
  let unknown: string[] | undefined
  for (const name in values) {
    if (!Object.hasOwn(properties, name)) unknown = [...(unknown ?? []), name]
    else if (properties[name]?.type === 'boolean') values[name] = flags[values[name] as string] ?? values[name]
  }
  if (unknown && !stream && !conceal) state.warnings = [...(state.warnings ?? []), ...boundedWarnings('query parameter', unknown)]
}
